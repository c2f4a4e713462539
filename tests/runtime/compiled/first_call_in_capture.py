"""A compiled function runs for the first time in a capture."""
# graphed: by hand

import torch


@torch.compile
def act(x):
    return torch.nn.functional.silu(x) * 2


x = torch.ones(4, 8, device="cuda")
with torch.no_grad():
    x.mul_(1.0)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = act(x)  # expect: GL609
    graph.replay()
print(y.sum().item())
