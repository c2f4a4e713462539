"""Sorting has sizes that are known."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return torch.topk(x, 2).values + x.argsort(-1)[:, :2]


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
