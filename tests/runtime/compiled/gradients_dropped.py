"""Gradients are used and dropped before the next step."""
# graphed: wholly

import torch

model = torch.nn.Linear(8, 8).cuda()
step = torch.compile(model, mode="reduce-overhead")
for _ in range(4):
    loss = step(torch.randn(4, 8, device="cuda")).pow(2).mean()
    loss.backward()
    print(model.weight.grad.sum().item())
    model.zero_grad()
