"""The option by itself."""
# graphed: wholly

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Sigmoid()).cuda().eval()
step = torch.compile(model, options={"triton.cudagraphs": True})
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
