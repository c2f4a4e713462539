"""A compiled function has run with the shape that is captured."""
# graphed: by hand

import torch


@torch.compile
def act(x):
    return torch.nn.functional.silu(x) * 2


x = torch.ones(4, 8, device="cuda")
with torch.no_grad():
    act(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = act(x)
    x.fill_(2.0)
    graph.replay()
print(y.sum().item())
