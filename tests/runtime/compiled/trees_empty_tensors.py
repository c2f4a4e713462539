"""Tensors without elements, as arguments and outputs."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, nothing):
    return torch.cat([x, nothing]) * 2, nothing + 1


with torch.no_grad():
    for _ in range(4):
        y, nothing = step(torch.randn(4, device="cuda"), torch.empty(0, device="cuda"))
        assert y.shape == (4,)
        assert nothing.numel() == 0
