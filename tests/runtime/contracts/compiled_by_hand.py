"""A compiled module that is captured by hand: its kernels read a scale and the input, and count."""

import torch


class Wave(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.full((64,), 3.0))
        self.register_buffer("calls", torch.zeros(64))

    def forward(self, x):
        self.calls.add_(1)
        return torch.sin(x) * self.scale + self.calls


wave = Wave().cuda()
compiled = torch.compile(wave)
phase = torch.zeros(64, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.no_grad():
    compiled(phase)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        out = compiled(phase)
    for step in range(4):
        phase.copy_(torch.full((64,), float(step), device="cuda"))
        graph.replay()
        out.clone()
