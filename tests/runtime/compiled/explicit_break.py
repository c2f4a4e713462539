"""A break that is asked for."""
# graphed: partly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    torch._dynamo.graph_break()  # expect: GL707
    return y.relu()


with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
