"""Statistics that a graph keeps from replay to replay, on a second stream, and one that is set back now and then."""

import torch


class Meter:
    def __init__(self, size):
        self.mean, self.seen, self.worst = (torch.zeros(size, device="cuda") for _ in range(3))

    def add(self, values):
        self.seen.add_(1)
        self.mean.add_((values - self.mean) / self.seen)
        torch.maximum(self.worst, values, out=self.worst)


class Monitor:
    def __init__(self, model):
        self.model, self.meters = model, {"norm": Meter(1), "width": Meter(1)}
        self.shadow = [one.detach().clone() for one in model.parameters()]
        self.samples = torch.zeros(8, 4, device="cuda")
        self.side, self.graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

    @torch.no_grad()
    def look(self):
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            for mine, theirs in zip(self.shadow, self.model.parameters(), strict=True):
                mine.mul_(0.9).add_(theirs, alpha=0.1)
        out = self.model(self.samples)
        self.meters["norm"].add(out.norm().view(1))
        self.meters["width"].add((out.amax() - out.amin()).view(1))
        torch.cuda.current_stream().wait_stream(self.side)

    def capture(self):
        self.look()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.look()


monitor = Monitor(torch.nn.Linear(4, 4).cuda())
monitor.capture()
for number in range(4):
    monitor.samples.normal_()
    if number == 2:
        monitor.meters["norm"].worst.zero_()
    monitor.graph.replay()
