"""It has run before, with another size."""
# graphed: by hand

import torch


@torch.compile(dynamic=False)
def act(x):
    return torch.nn.functional.silu(x) * 2


x = torch.ones(4, 8, device="cuda")
with torch.no_grad():
    act(torch.ones(2, 8, device="cuda"))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = act(x)  # expect: GL609
    graph.replay()
print(y.sum().item())
