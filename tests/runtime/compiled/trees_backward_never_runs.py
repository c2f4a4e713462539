"""A forward pass whose results nobody differentiates, each dropped before the next."""
# graphed: wholly

import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
for _ in range(6):
    torch.compiler.cudagraph_mark_step_begin()
    step(torch.randn(4, 8, device="cuda"))
