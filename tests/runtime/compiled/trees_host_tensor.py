"""A tensor of the host takes part."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, y):
    return x * 2, y + 1  # expect: GL707


with torch.no_grad():
    for _ in range(4):
        step(torch.randn(8, device="cuda"), torch.randn(8))
