"""A function by its decorator."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return (x * 2).relu()


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
