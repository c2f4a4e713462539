"""Two layers and what is between them."""
# graphed: wholly

import torch

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8)).cuda().eval()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(4, 8, device="cuda"))
print(y.sum().item())
