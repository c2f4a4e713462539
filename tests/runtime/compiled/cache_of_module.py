"""A cache that is a buffer is written in place."""
# graphed: wholly

import torch


class Cache(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(8, 4))

    def forward(self, x, position):
        self.keys.index_copy_(0, position, x)
        return self.keys.sum(0)


step = torch.compile(Cache().cuda(), mode="reduce-overhead")
with torch.no_grad():
    for number in range(4):
        y = step(torch.randn(1, 4, device="cuda"), torch.full((1,), number, device="cuda"))
print(y.sum().item())
