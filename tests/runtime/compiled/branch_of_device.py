"""A branch that the device decides."""
# graphed: none

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))  # expect: GL707


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
