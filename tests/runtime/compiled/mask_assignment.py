"""A mask assigns one value, which Inductor turns into a choice between two."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, value):
    y = x * 2
    y[x > 0] = value
    return y


value = torch.ones((), device="cuda")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), value)
print(y.sum().item())
