"""A compiled function that builds tensors of numbers is captured by hand; its guards ask for what builds them."""
# graphed: by hand

import torch

x = torch.randn(4, device="cuda")


@torch.compile
def step():
    return x * torch.tensor(3.0) + x.new_tensor(0.5)


stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(stream)
with torch.cuda.graph(graph):
    y = step()
for _ in range(3):
    x.copy_(torch.randn(4, device="cuda"))
    graph.replay()
print(y.sum().item())
