"""Structures of tensors in and out: a policy, and an update of it by which its target follows."""

import torch


class Captured:
    def __init__(self, function):
        self.function, self.given, self.graph, self.result = function, {}, None, None

    def __call__(self, batch):
        if self.graph is None:
            self.given = {name: tensor.clone() for name, tensor in batch.items()}
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                self.function(self.given)
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.result = self.function(self.given)
        for name, tensor in self.given.items():
            tensor.copy_(batch[name])
        self.graph.replay()
        return {name: tensor.clone() for name, tensor in self.result.items()}


net, target = torch.nn.Linear(4, 2).cuda(), torch.nn.Linear(4, 2).cuda()
target.requires_grad_(False)
rates = {"discount": 0.9, "follow": 0.1}


@torch.no_grad()
def act(batch):
    return {"action": net(batch["seen"]).argmax(-1)}


@torch.no_grad()
def update(batch):
    wanted = batch["reward"] + rates["discount"] * target(batch["next"]).amax(-1)
    error = net(batch["seen"]).amax(-1) - wanted
    for mine, theirs in zip(target.parameters(), net.parameters(), strict=True):
        mine.lerp_(theirs, rates["follow"])
    return {"loss": error.square().mean(), "error": error}


acting, updating = Captured(act), Captured(update)
for _ in range(3):
    seen = torch.randn(8, 4, device="cuda")
    acting({"seen": seen})
    updating({"seen": seen, "next": torch.randn(8, 4, device="cuda"), "reward": torch.randn(8, device="cuda")})
