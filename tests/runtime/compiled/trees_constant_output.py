"""An output that no argument changes, and one that is None."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return torch.ones(4, device="cuda"), None, x * 2


with torch.no_grad():
    for _ in range(4):
        ones, nothing, y = step(torch.randn(4, device="cuda"))
        assert nothing is None
        assert ones.sum().item() == 4
