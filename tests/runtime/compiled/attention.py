"""Attention over a mask."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(q, mask):
    return torch.softmax(q @ q.mT + mask, -1) @ q


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(2, 4, 8, device="cuda"), torch.zeros(4, 4, device="cuda"))
print(y.sum().item())
