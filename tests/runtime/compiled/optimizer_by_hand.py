"""A compiled training step is captured by hand; that an optimizer steps in a capture does not compile it anew."""
# graphed: by hand

import torch

model = torch.nn.Linear(8, 1).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1, device="cuda"), capturable=True)
x = torch.randn(4, 8, device="cuda")


@torch.compile
def step():
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()


stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(stream)
with torch.cuda.graph(graph):
    loss = step()
for _ in range(3):
    x.copy_(torch.randn(4, 8, device="cuda"))
    graph.replay()
print(loss.item())
