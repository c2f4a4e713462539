"""A model is trained, and then only asked."""
# graphed: wholly

import torch

model = torch.nn.Linear(8, 8).cuda()
step = torch.compile(model, mode="reduce-overhead")
for _ in range(4):
    step(torch.randn(4, 8, device="cuda")).sum().backward()
    model.zero_grad()
with torch.no_grad():
    for _ in range(4):
        x = torch.randn(4, 8, device="cuda")
        assert torch.allclose(step(x), model(x), atol=1e-5)
