"""An argument is written that nobody has promised to keep where it is."""
# graphed: none

import torch


@torch.compile(mode="reduce-overhead")
def step(x, cache):
    cache.add_(x)  # expect: GL707
    return cache * 5


cache = torch.zeros(8, device="cuda")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), cache)
print(y.sum().item())
