"""Each step has new weights, at other addresses."""
# graphed: wholly

import torch

model = torch.nn.Linear(8, 8).cuda()
step = torch.compile(model, mode="reduce-overhead")
kept = []
with torch.no_grad():
    for _ in range(8):
        kept.append(model.weight.data)
        model.weight.data = torch.randn(8, 8, device="cuda")
        y = step(torch.randn(2, 8, device="cuda"))  # expect: GL707
print(y.sum().item())
