"""An argument of the program's own is written, for which nothing is graphed."""
# graphed: none

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    x.add_(1)  # expect: GL707
    return x * 2


with torch.no_grad():
    for _ in range(4):
        step(torch.randn(8, device="cuda"))
