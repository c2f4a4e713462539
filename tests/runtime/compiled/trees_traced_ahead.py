"""A compiler that leaves operators what they are, in training; what is captured, is captured by hand."""
# graphed: by hand

import torch

weight = torch.ones(4, device="cuda", requires_grad=True)


@torch.compile(backend="aot_eager")
def step(x):
    return (x * weight * weight).sum()


x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(2):
        weight.grad = None
        step(x).backward()
torch.cuda.current_stream().wait_stream(stream)
weight.grad = None
with torch.cuda.graph(graph):
    step(x).backward()
for number in range(3):
    x.fill_(number)
    graph.replay()
    assert weight.grad.tolist() == [2.0 * number] * 4
