"""Forward, backward, clipping and the optimizer in one graph; the rate is a tensor that a schedule fills."""

import torch

model = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.Dropout(0.1), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2)
).cuda()
rate = torch.tensor(0.1, device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=rate, capturable=True, foreach=True)
data, wanted = torch.randn(8, 4, device="cuda"), torch.zeros(8, dtype=torch.long, device="cuda")
limit = 1.0


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(model(data), wanted)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = step()
for _ in range(4):
    data.copy_(torch.randn(8, 4, device="cuda"))
    wanted.random_(2)
    rate.mul_(0.9)
    graph.replay()
    print(loss.item())
