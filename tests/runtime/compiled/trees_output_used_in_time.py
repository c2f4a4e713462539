"""An output is used up before the function runs again."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    return x * x


total = 0.0
with torch.no_grad():
    for number in range(6):
        total += step(torch.full((4,), float(number), device="cuda")).sum().item()
assert total == 4 * (0 + 1 + 4 + 9 + 16 + 25)
