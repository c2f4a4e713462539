"""A number of the host that is part of the code, and a mask that is assigned one."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * torch.tensor(2.0)
    y[x < 0] = 0.0
    return y + torch.tensor([1.0, 2.0], device=x.device)


with torch.no_grad():
    for _ in range(4):
        x = torch.randn(8, 2, device="cuda")
        assert torch.allclose(step(x), x.relu() * 2 + torch.tensor([1.0, 2.0], device="cuda"))
