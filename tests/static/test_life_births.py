"""State that a region creates because nothing has called what it calls before: each replay creates it anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

TRAINING = """
import torch

def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step(){told}

def main(steps):
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.{optimizer}
    x = torch.zeros(2, 4, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            {warm}
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad()
    with torch.cuda.graph(graph):
        step(model, optimizer, x)
    for _ in range(3):
        x.normal_()
        graph.replay()

main(3)
"""
ADAM = "Adam(model.parameters(), capturable=True)"
TOLD = {
    "a backward pass warms up no optimizer": (ADAM, "model(x).sum().backward()"),
    "SGD has momentum": ("SGD(model.parameters(), lr=0.1, momentum=0.9)", "model(x)"),
}
SILENT = {
    "whole steps are made before": (ADAM, "step(model, optimizer, x)"),
    "the optimizer alone is stepped": (ADAM, "model(x).sum().backward(); optimizer.step()"),
    "the state is loaded": (ADAM, "optimizer.load_state_dict(torch.load('state.pt'))"),
    "a stranger gets the optimizer": (ADAM, "steps(model, optimizer)"),
    "SGD has no state": ("SGD(model.parameters(), lr=0.1)", "model(x)"),
    "SGD has no momentum": ("SGD(model.parameters(), lr=0.1, momentum=0)", "model(x)"),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_optimizer_whose_first_step_is_captured_is_told(tmp_path: Path, name: str) -> None:
    optimizer, warm = TOLD[name]
    analysis = analyse(tmp_path, TRAINING.format(optimizer=optimizer, warm=warm, told="  # expect: GL702"))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_an_optimizer_that_has_stepped_or_keeps_nothing_is_silent(tmp_path: Path, name: str) -> None:
    optimizer, warm = SILENT[name]
    assert not analyse(tmp_path, TRAINING.format(optimizer=optimizer, warm=warm, told="")).shown


def test_a_step_of_which_a_stranger_may_have_made_the_first_is_silent(tmp_path: Path) -> None:
    program = """
    import torch

    class Trainer:
        def __init__(self, model):
            self.model = model
            self.optimizer = torch.optim.Adam(model.parameters(), capturable=True)
            self.x = torch.zeros(2, 4, device="cuda")

        def capture(self):
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.optimizer.step()
    """
    assert all(code != "GL702" for _, _, code in analyse(tmp_path, program).shown)


OWN = """
import torch

class Average:
    def __init__(self):
        self.mean = None

    def update(self, x):
{body}

average = Average()
x = torch.ones(4, device="cuda")
{before}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    average.update(x)
for _ in range(3):
    x.normal_()
    graph.replay()
"""
ELSE = """
        if self.mean is None:
            self.mean = x.clone(){told}
        else:
            self.mean.mul_(0.9).add_(x)
"""
BEHIND = """
        if self.mean is None:
            self.mean = torch.zeros_like(x){told}
        self.mean += x
"""


@pytest.mark.parametrize("body", [ELSE, BEHIND])
def test_a_tensor_that_is_made_once_and_changed_in_place_is_told_where_the_region_makes_it(
    tmp_path: Path, body: str
) -> None:
    cold = analyse(tmp_path, OWN.format(body=body.format(told="  # expect: GL501"), before=""))
    assert set(cold.expected) <= set(cold.shown)
    warm = analyse(tmp_path, OWN.format(body=body.format(told=""), before="average.update(x)"))
    assert all(code != "GL501" for _, _, code in warm.shown)


TARGET = """
import torch

class Agent:
    def __init__(self):
        self.net, self.target = torch.nn.Linear(4, 4).cuda(), torch.nn.Linear(4, 4).cuda()
        self.optimizer = torch.optim.Adam(self.net.parameters(), capturable=True)
        self.x = torch.zeros(2, 4, device="cuda")

    def update(self):
        self.optimizer.zero_grad()
        {target}
        (self.net(self.x) - best).square().mean().backward()
        self.optimizer.step()

agent = Agent()
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    agent.update()
torch.cuda.current_stream().wait_stream(side)
agent.optimizer.zero_grad()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    agent.update()
for _ in range(3):
    agent.x.normal_()
    graph.replay()
"""


@pytest.mark.parametrize(
    "target, found",
    [
        ("with torch.no_grad(): best = self.target(self.x)", []),
        ("best = self.target(self.x).detach()", []),
        ("best = self.target(self.x)", ["GL705"]),
    ],
)
def test_a_model_that_gets_no_gradient_has_none_to_add_to(tmp_path: Path, target: str, found: list[str]) -> None:
    assert [code for _, _, code in analyse(tmp_path, TARGET.format(target=target)).shown] == found


SCRIPT = """
import functools
import torch
from torch import nn

net = {net}.cuda()
optimizer = torch.optim.{optimizer}
scaler = torch.amp.GradScaler("cuda")

@functools.cache
def table(n):
    return torch.arange(n, device="cuda")

def work(x):
    {work}

def main():
    x = torch.zeros(8, 4, device="cuda")
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(x)
    graph.replay()

main()
"""
LINEAR, ADAM = "nn.Linear(4, 4)", "Adam(net.parameters(), lr=torch.tensor(0.1, device='cuda'), capturable=True)"
WORK = {
    "moments": (LINEAR, ADAM, "optimizer.step()", "GL702"),
    "momentum": (LINEAR, "SGD(net.parameters(), lr=0.1, momentum=0.9)", "optimizer.step()", "GL702"),
    "no momentum": (LINEAR, "SGD(net.parameters(), lr=0.1)", "optimizer.step()", None),
    "a scale": (LINEAR, ADAM, "return scaler.scale(net(x).sum())", "GL702"),
    "a lazy layer": ("nn.LazyLinear(4)", ADAM, "return net(x)", "GL702"),
    "a layer": (LINEAR, ADAM, "return net(x)", None),
    "a cache": (LINEAR, ADAM, "return x + table(4)", "GL501"),
}
EARLIER = {
    "called before": "work(x)",
    "perhaps called before": "if input():\n        work(x)",
    "called before by a loop": "for _ in range(3):\n        work(x)",
}


@pytest.mark.parametrize(("net", "optimizer", "work", "code"), WORK.values(), ids=WORK)
@pytest.mark.parametrize("before", ["pass", *EARLIER.values()], ids=["never called before", *EARLIER])
def test_the_first_call_is_the_captured_one(
    tmp_path: Path, net: str, optimizer: str, work: str, code: str | None, before: str
) -> None:
    """Replay makes the first value of the state again and again."""
    mark = f"  # expect: {code}" if code and before == "pass" else ""
    program = SCRIPT.format(net=net, optimizer=optimizer, work=work + mark, before=before)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL702", "GL501")]


@pytest.mark.parametrize(
    ("restored", "mark"), [("optimizer.load_state_dict(saved)", ""), ("pass", "  # expect: GL702")]
)
def test_state_that_is_loaded_is_there(tmp_path: Path, restored: str, mark: str) -> None:
    """It is that of an earlier run."""
    program = SCRIPT.format(net=LINEAR, optimizer=ADAM, work=f"optimizer.step(){mark}", before=restored)
    analysis = analyse(tmp_path, f"saved = dict()\n{program}")
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL702"]
