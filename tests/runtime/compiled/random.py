"""Random numbers of the device."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x + torch.rand_like(x)


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
