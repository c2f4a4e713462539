"""Only outputs of replays are kept, which torch does not refuse to read."""
# graphed: wholly

import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
kept = []
with torch.no_grad():
    for number in range(7):
        y = step(torch.randn(4, 8, device="cuda"))
        if number > 2:
            kept.append(y)  # expect: GL510
print(torch.stack(kept).sum().item())
