"""Other work of the program between two graphs of a step."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x.sin()


with torch.no_grad():
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        x = torch.randn(8, device="cuda")
        y = step(x) * 3 + 1
        assert torch.allclose(step(y), (x.sin() * 3 + 1).sin(), atol=1e-5)
