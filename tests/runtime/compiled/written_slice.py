"""A row of an argument is written."""
# graphed: none

import torch


@torch.compile(mode="reduce-overhead")
def step(x, cache):
    cache[1] = x  # expect: GL707
    return cache.sum(0)


cache = torch.zeros(4, 8, device="cuda")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), cache)
print(y.sum().item())
