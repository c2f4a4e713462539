"""Each size is recorded, and none is seen again."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead", dynamic=True)
def step(x):
    return (x * 2).sum(0)


with torch.no_grad():
    for rows in range(4, 12):
        for _ in range(2):
            y = step(torch.randn(rows, 8, device="cuda"))  # expect: GL707
print(y.sum().item())
