"""The other mode that graphs."""
# graphed: wholly

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).cuda().eval()
step = torch.compile(model, mode="max-autotune")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
