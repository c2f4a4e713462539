"""Two outputs that share memory, one of which is dropped before the other."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    return y[0], y[1]


with torch.no_grad():
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(2, 8, device="cuda")
        head, tail = step(x)
        del head
        assert torch.allclose(tail, x[1] * 2)
