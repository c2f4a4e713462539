"""Two parts of a streaming model, which a wrapper captures when they have run twice and feeds from its arguments."""

import torch


class Graphed:
    def __init__(self, call, warm_ups=2):
        self.call, self.warm_ups, self.graph, self.inputs, self.output = call, warm_ups, None, (), None

    def __call__(self, *inputs):
        if self.warm_ups:
            self.warm_ups -= 1
            return self.call(*inputs)
        if self.graph is None:
            self.inputs = [one.clone() for one in inputs]
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.output = self.call(*self.inputs)
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given)
        self.graph.replay()
        return self.output


class Backbone(torch.nn.Module):
    def __init__(self, width=8, places=4):
        super().__init__()
        self.mix = torch.nn.Linear(width, width)
        self.ring, self.offset = torch.zeros(places, width).cuda(), torch.zeros(1, dtype=torch.long).cuda()

    def forward(self, x):
        self.ring.index_copy_(0, self.offset % self.ring.shape[0], x)
        self.offset.add_(1)
        return self.mix(self.ring.mean(0, keepdim=True))


class Model:
    def __init__(self):
        self.backbone, self.head = Backbone().cuda(), torch.nn.Linear(8, 16).cuda()
        self.run_backbone, self.run_head = Graphed(self.backbone), Graphed(self.pick)

    def pick(self, hidden, temperature):
        return torch.softmax(self.head(hidden) / temperature, -1)

    def step(self, x):
        hidden = self.run_backbone(x)
        return self.run_head(hidden, torch.full((1,), 0.7, device="cuda")).clone()


model = Model()
with torch.no_grad():
    for _ in range(6):
        model.step(torch.randn(1, 8, device="cuda"))
