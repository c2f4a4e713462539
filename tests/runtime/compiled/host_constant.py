"""A table of the host is an argument."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, table):
    scaled = table * 2  # expect: GL707
    return x + scaled.to(x.device)  # expect: GL707


table = torch.arange(8.0)
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), table)
print(y.sum().item())
