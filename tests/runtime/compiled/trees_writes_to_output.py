"""An argument is written that an earlier graph gave, whose memory stays where it is."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def make(x):
    return x * 2


@torch.compile(mode="reduce-overhead")
def write(y):
    y.add_(1)
    return y.sum(0)


with torch.no_grad():
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(4, 8, device="cuda")
        y = make(x)
        found = write(y)
        assert torch.allclose(found, (x * 2 + 1).sum(0), atol=1e-5)
