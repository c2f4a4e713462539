"""Outputs are kept in a dictionary."""
# graphed: wholly

import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
kept = {}
with torch.no_grad():
    for number in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
        kept[number] = y  # expect: GL510
print(sum(one.sum() for one in kept.values()).item())
