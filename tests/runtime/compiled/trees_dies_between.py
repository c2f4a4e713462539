"""An output of the middle of a path is gone before the path goes on."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def first(x):
    return x + 1, x + 2


@torch.compile(mode="reduce-overhead")
def second(x):
    return x * 2, x * 3


with torch.no_grad():
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, device="cuda")
        y, z = first(x)
        del z
        double, triple = second(y)
        del y
        again, _ = second(double)
        assert torch.allclose(again, (x + 1) * 4)
        assert torch.allclose(triple, (x + 1) * 3)
