"""An index of the device."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, index):
    return x[index] + x.gather(0, index[:, None])[:, :1]


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, 8, device="cuda"), torch.randint(8, (8,), device="cuda"))
print(y.sum().item())
