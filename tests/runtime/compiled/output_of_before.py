"""The output of the call before is read after the next one."""
# graphed: wholly

import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
last = None
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))  # expect: GL510
        if last is not None:
            print((y - last).abs().sum().item())
        last = y
