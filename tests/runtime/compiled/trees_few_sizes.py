"""A function for any size, which records a graph for each that it gets."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead", dynamic=True)
def step(x):
    return x * x.shape[0]


with torch.no_grad():
    for number in range(12):
        x = torch.randn(3 + number % 2, 8, device="cuda")
        assert torch.allclose(step(x), x * (3 + number % 2))
