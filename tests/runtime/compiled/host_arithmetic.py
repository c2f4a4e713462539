"""A part is computed on the host."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    h = x.cpu() + 1  # expect: GL707
    return x * 2 + h.cuda()  # expect: GL707


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
