"""Outputs wait for a backward pass that never comes."""
# graphed: none

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()).cuda()
step = torch.compile(model, mode="reduce-overhead")
x = torch.randn(2, 8, device="cuda")
for _ in range(5):
    x = step(x).clone()  # expect: GL707
print(x.sum().item())
