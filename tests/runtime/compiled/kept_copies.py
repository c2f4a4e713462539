"""Copies of outputs are kept."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x * 2


kept = []
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
        kept.append(y.clone())
print(torch.stack(kept).sum().item())
