"""An argument is an output as well."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x, x + 1


with torch.no_grad():
    for _ in range(4):
        x = torch.randn(8, device="cuda")
        same, more = step(x)
        assert same is x
        assert torch.equal(more, x + 1)
