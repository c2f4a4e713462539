"""A print ends the graph of the compiler."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    print("mean", y.mean())  # expect: GL707
    return y + 1


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
