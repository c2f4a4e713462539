"""Autocast around a compiled layer."""
# graphed: wholly

import torch

model = torch.nn.Linear(8, 8).cuda()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
        assert y.dtype is torch.bfloat16
