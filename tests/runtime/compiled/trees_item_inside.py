"""A number that the host reads, and goes on with."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x + 1
    return y * y.sum().item()  # expect: GL707


with torch.no_grad():
    for _ in range(4):
        step(torch.randn(8, device="cuda"))  # expect: GL707
