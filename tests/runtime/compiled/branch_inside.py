"""Another one, between other operators."""
# graphed: none

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x.relu()
    z = torch.cond(y.sum() > 4, torch.sin, torch.cos, (y,))  # expect: GL707
    return z * 2


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
