"""Where a mask decides, nothing has to be counted."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return torch.where(x > 0, x, 0.0)


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
