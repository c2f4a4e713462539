"""Two compiled layers, and a backward pass through both."""
# graphed: wholly

import torch

first = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
second = torch.compile(torch.nn.Linear(8, 1).cuda(), mode="reduce-overhead")
for _ in range(6):
    torch.compiler.cudagraph_mark_step_begin()
    second(first(torch.randn(4, 8, device="cuda")).relu()).sum().backward()
    first.zero_grad()
    second.zero_grad()
