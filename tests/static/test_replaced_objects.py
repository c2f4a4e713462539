"""Objects that a region is handed, and that the program replaces between replays: the graph has numbers of the old."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Plan:
    def __init__(self, most):
        self.most = most

class Layer:
    def __init__(self):
        self.keys = torch.randn(64, 4, device="cuda")

    def attend(self, q, plan, scale=1):
        {inside}
        keys = self.keys[: plan.most]{mark}
        return (q @ keys.mT).softmax(-1) @ keys * scale

class Model:
    def __init__(self):
        self.layers = [Layer() for _ in range(2)]

    def forward(self, q, *, plan):
        for layer in self.layers:
            q = layer.attend(q, {handed})
        return q

class Runner:
    def __init__(self, model):
        self.model, self.q = model, torch.zeros(1, 4, device="cuda")
        self.plan = Plan(8)
        self.body()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.body()

    def body(self):
        {named}
        return self.model.forward(self.q, plan={given})

    def step(self, q, n):
        {replaced}
        self.q.copy_(q)
        self.graph.replay()
        return self.out.clone()

runner = Runner(Model())
for n in (4, 9, 20):
    print(runner.step(torch.randn(1, 4, device="cuda"), n))
"""
PLAIN = {"named": "pass", "given": "self.plan", "handed": "plan", "replaced": "self.plan = Plan(n)", "inside": "pass"}
TOLD = {
    "by position": {},
    "by name": {"handed": "scale=2, plan=plan"},
    "under a local name": {"named": "plan = self.plan", "given": "plan"},
}
SILENT = {
    "kept": {"replaced": "pass"},
    "made in the region": {"given": "Plan(8)"},
    "made by who is handed it": {"inside": "plan = Plan(8)"},
    "kept by somebody else": {"replaced": "self.last = Plan(n)"},
}


@pytest.mark.parametrize("name", TOLD)
def test_a_number_of_an_object_that_is_replaced_is_frozen(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**PLAIN | TOLD[name], mark="  # expect: GL402"))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


@pytest.mark.parametrize("name", SILENT)
def test_a_number_of_an_object_that_stays_is_silent(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**PLAIN | SILENT[name], mark=""))
    assert [] == [one for one in analysis.shown if one[2] == "GL402"]


COUNTED = """
import torch

class Tally(torch.nn.Module):
    def __init__(self, tag, book):
        super().__init__()
        self.tag, self.book = tag, book

    def forward(self, x):
        self.book[self.tag] = self.book.get(self.tag, 0) + 1{mark}
        return x * 2

def main():
    book, other = {{}}, {{}}
    net = Tally("mid", {given})
    x = torch.randn(2, 4, device="cuda")
    net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    for _ in range(5):
        graph.replay()
    {behind}
"""


@pytest.mark.parametrize(
    ("given", "behind", "mark"),
    [
        ("book", "print(book)", "  # expect: GL401"),
        ("book=book", "return book['mid']", "  # expect: GL401"),
        ("book", "print(other)", ""),
        ("{}", "print(book)", ""),
    ],
    ids=["shown", "by name", "another one", "nobody has it"],
)
def test_who_gives_a_table_reads_what_is_counted_there(tmp_path: Path, given: str, behind: str, mark: str) -> None:
    """An object counts in what its constructor was given, and the giver has a name of its own for that."""
    analysis = analyse(tmp_path, COUNTED.format(given=given, behind=behind, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL401"]
