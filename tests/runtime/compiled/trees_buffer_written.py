"""A buffer of a module counts its calls."""
# graphed: wholly

import torch


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls.add_(1)
        return x * self.calls


model = Counting().cuda()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for number in range(1, 6):
        x = torch.randn(8, device="cuda")
        assert torch.allclose(step(x), x * number)
