"""A parameter is among the outputs, and a view of it."""
# graphed: wholly

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        return x @ self.weight, self.weight, self.weight[0]


model = Model().cuda()
step = torch.compile(model, mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        x = torch.randn(4, 8, device="cuda")
        y, weight, row = step(x)
        assert torch.allclose(y, x @ model.weight, atol=1e-5)
        assert weight.data_ptr() == row.data_ptr() == model.weight.data_ptr()
