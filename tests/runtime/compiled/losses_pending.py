"""Losses are collected with all that they need to go backward."""
# graphed: none

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).cuda()
step = torch.compile(model, mode="reduce-overhead")
losses = []
for _ in range(5):
    y = step(torch.randn(2, 8, device="cuda"))  # expect: GL707
    losses.append(y.pow(2).mean())
print(torch.stack(losses).sum().item())
