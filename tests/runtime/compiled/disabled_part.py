"""A part is kept from the compiler."""
# graphed: partly

import torch


@torch.compiler.disable
def log(x):
    return x.sum()


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    log(y)  # expect: GL707
    return y.relu()


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
