"""A convolution with a batch norm, as for inference."""
# graphed: wholly

import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).cuda().eval()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        y = step(torch.randn(2, 3, 8, 8, device="cuda"))
print(y.sum().item())
