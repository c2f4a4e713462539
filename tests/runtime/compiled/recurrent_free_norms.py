"""Norms of several kinds."""
# graphed: wholly

import torch

model = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8), torch.nn.RMSNorm(8)).cuda().eval()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
