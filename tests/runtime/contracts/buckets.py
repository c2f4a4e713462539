"""One graph for each batch size, the largest first, in one pool, over one buffer for the inputs."""

import torch


class Runner:
    def __init__(self, model, sizes):
        self.model, self.graphs, self.outputs, self.pool = model, {}, {}, torch.cuda.graph_pool_handle()
        self.tokens = torch.zeros(max(sizes), dtype=torch.long, device="cuda")
        self.lengths = torch.ones(max(sizes), device="cuda")
        self.bias = torch.zeros(4, device="cuda")
        for size in sorted(sizes, reverse=True):
            self.capture(size)

    def forward(self, size):
        return self.model(self.tokens[:size]) / self.lengths[:size, None] + self.bias

    @torch.no_grad()
    def capture(self, size):
        self.forward(size)
        torch.cuda.synchronize()
        self.graphs[size] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graphs[size], pool=self.pool):
            self.outputs[size] = self.forward(size)

    def run(self, tokens, lengths):
        size = min(one for one in self.graphs if one >= len(tokens))
        self.tokens[:size].zero_()
        self.tokens[: len(tokens)].copy_(tokens)
        self.lengths[: len(lengths)].copy_(lengths)
        self.graphs[size].replay()
        return self.outputs[size][: len(tokens)].clone()


runner = Runner(torch.nn.Sequential(torch.nn.Embedding(16, 8), torch.nn.Linear(8, 4)).cuda(), (1, 2, 4))
for count in (1, 3, 2, 4):
    runner.run(torch.arange(count, device="cuda"), torch.full((count,), float(count), device="cuda"))
