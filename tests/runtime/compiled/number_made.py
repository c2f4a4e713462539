"""A number becomes a tensor on the device, and autograd is switched off inside."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    with torch.set_grad_enabled(False):
        return x * torch.tensor(2.0, device=x.device)


for _ in range(4):
    y = step(torch.randn(8, device="cuda"))
print(y.sum().item())
