"""A path that is replayed, and from its middle on recorded in another way."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def first(x):
    return x + 1


@torch.compile(mode="reduce-overhead")
def left(x):
    return x * 3


@torch.compile(mode="reduce-overhead")
def right(x):
    return x - 3


with torch.no_grad():
    for number in range(12):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, device="cuda")
        y = first(x)
        found = left(y) if number < 6 else right(y)
        assert torch.allclose(found, (x + 1) * 3 if number < 6 else (x + 1) - 3)
