"""A number of the device decides on the host."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    if y.sum().item() > 0:  # expect: GL707
        y = y + 1
    return y.relu()


with torch.no_grad():
    for _ in range(4):
        y = step(torch.ones(4, 8, device="cuda"))
print(y.sum().item())
