"""An argument lies on the host, and is copied in each call."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x, batch):
    there = batch.cuda(non_blocking=True)  # expect: GL707
    return x + there


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(8, device="cuda"), torch.randn(8))
print(y.sum().item())
