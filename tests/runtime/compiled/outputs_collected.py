"""Outputs are kept in a list, as they are."""
# graphed: wholly

import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
kept = []
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
        kept.append(y)  # expect: GL510
print(torch.stack(kept).sum().item())
