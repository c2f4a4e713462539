"""Programs that two ranks run, right and wrong, by name; each with what one report for both has to say."""

from __future__ import annotations

HEAD = """
import os
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
device = rank % torch.cuda.device_count()
torch.cuda.set_device(device)
"""
EAGER = 'dist.init_process_group("nccl", device_id=torch.device("cuda", device))\n'
TENSORS = """
a, b = torch.full((4,), rank + 1.0, device="cuda"), torch.full((4,), 10.0 * (rank + 1), device="cuda")
graph = torch.cuda.CUDAGraph()
"""
END = """
graph.reset()
dist.destroy_process_group()
"""

TRAINING = """
stream, x = torch.cuda.Stream(), torch.full((4, 8), rank + 1.0, device="cuda")
stream.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(stream):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2).cuda(), device_ids=[device])
    for _ in range({steps}):
        model.zero_grad(set_to_none=True)
        model(x).sum().backward()
torch.cuda.current_stream().wait_stream(stream)
model.zero_grad(set_to_none=True)
with torch.cuda.graph(graph, stream=stream):
    y = model(x){mark}
    y.sum().backward()
graph.replay()
assert model.module.weight.grad.unique().tolist() == [6.0]
"""

RIGHT = {
    "reduced": EAGER
    + TENSORS
    + """
with torch.cuda.graph(graph):
    x = a * 1
    dist.all_reduce(x)
for _ in range(2):
    graph.replay()
assert x.tolist() == [3.0] * 4
"""
    + END,
    "gathered": 'dist.init_process_group("nccl")\n'
    + TENSORS
    + """
dist.all_reduce(torch.zeros(1, device="cuda"))
with torch.cuda.graph(graph):
    parts = [torch.zeros(4, device="cuda") for _ in range(2)]
    dist.all_gather(parts, a)
graph.replay()
assert [part[0].item() for part in parts] == [1.0, 2.0]
"""
    + END,
    "sent": EAGER
    + TENSORS
    + """
x = torch.zeros(4, device="cuda")
with torch.cuda.graph(graph):
    if rank:
        dist.recv(x, 0)
    else:
        dist.send(a, 1)
graph.replay()
assert x.tolist() == [1.0 * rank] * 4
"""
    + END,
    "eager on one": EAGER
    + TENSORS
    + """
x = a * 1
if rank:
    dist.all_reduce(x)
    with torch.cuda.graph(graph):
        y = x * 2
    graph.replay()
else:
    with torch.cuda.graph(graph):
        x = a * 1
        dist.all_reduce(x)
    graph.replay()
assert x.tolist() == [3.0] * 4
"""
    + END,
    "not waited for": EAGER
    + TENSORS
    + """
with torch.cuda.graph(graph):
    x = a * 1
    work = dist.all_reduce(x, async_op=True)
    y = b * 2
    work.wait()
graph.replay()
assert x.tolist() == [3.0] * 4
"""
    + END,
    "trained": EAGER + TENSORS + TRAINING.format(steps=11, mark="") + END,
}

WRONG = {
    "warmed up too little": (
        "GL104",
        EAGER + TENSORS + TRAINING.format(steps=2, mark="  # told"),
    ),
    "crossed": (
        "GL006",
        EAGER
        + TENSORS
        + """
with torch.cuda.graph(graph):
    x, y = a * 1, b * 1
    if rank:
        dist.all_reduce(y)  # told
        dist.all_reduce(x)
    else:
        dist.all_reduce(x)
        dist.all_reduce(y)
graph.replay()
"""
        + END,
    ),
    "set up late": (
        "GL609",
        'dist.init_process_group("nccl")\n'
        + TENSORS
        + """
with torch.cuda.graph(graph):
    dist.all_reduce(a)  # told
graph.replay()
""",
    ),
    "barrier": (
        "GL103",
        EAGER
        + TENSORS
        + """
with torch.cuda.graph(graph):
    x = a * 2
    dist.barrier()  # told
graph.replay()
""",
    ),
    "made late": (
        "GL609",
        EAGER
        + TENSORS
        + """
with torch.cuda.graph(graph):
    group = dist.new_group([0, 1])  # told
    dist.all_reduce(a, group=group)
graph.replay()
""",
    ),
    "destroyed early": (
        "GL606",
        EAGER
        + TENSORS
        + """
with torch.cuda.graph(graph):
    x = a * 1
    dist.all_reduce(x)
graph.replay()
dist.destroy_process_group()  # told
""",
    ),
}
