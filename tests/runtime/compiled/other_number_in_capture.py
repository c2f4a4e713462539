"""It has run before, with another number."""
# graphed: by hand

import torch


@torch.compile
def act(x, factor):
    return torch.nn.functional.silu(x) * factor


x = torch.ones(4, 8, device="cuda")
with torch.no_grad():
    act(x, 2)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = act(x, 3)  # expect: GL609
    graph.replay()
print(y.sum().item())
