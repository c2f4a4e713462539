"""An argument that is written is promised to stay where it is."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, cache):
    cache.add_(x)
    return cache * 2


cache = torch.zeros(8, device="cuda")
torch._dynamo.mark_static_address(cache)
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), cache)
print(y.sum().item())
