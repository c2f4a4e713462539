"""A number of the host in a tensor goes to the device in each call."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, rate):
    return x * rate


rate = torch.tensor(0.5)
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), rate)  # expect: GL707
print(y.sum().item())
