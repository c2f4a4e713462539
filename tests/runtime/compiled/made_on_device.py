"""Tensors are made where they are used."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x + torch.arange(8, device=x.device) * torch.full((8,), 2.0, device="cuda")


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
