"""A step that uses fewer functions than the one that was recorded."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def first(x):
    return x + 1


@torch.compile(mode="reduce-overhead")
def second(x):
    return x * 3


with torch.no_grad():
    for number in range(9):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, device="cuda")
        y = first(x)
        if number % 3:
            assert torch.allclose(second(y), (x + 1) * 3)
