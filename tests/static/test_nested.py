"""What a region runs is not what captures that region again."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
# file: runner.py
import torch

class Runner:
    def __init__(self, model, is_on):
        self.model, self.is_on = model, is_on

    def prepare(self, x):
        return x * x.max().item()

    def run(self, x):
{body}

    def ready(self, x):
        return self._capture(x)

    def _capture(self, x):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.model(x)
        return graph

# file: main.py
import torch
from runner import Runner

class Model:
    def __call__(self, x):
        return self.other.run(x)

def main(is_on):
    model = Model()
    runner = Runner(model, is_on)
    model.other = runner
    runner.run(torch.ones(4, device="cuda"))
"""
AGAIN = {
    "before it captures": "x = self.prepare(x)\nself._capture(x)\nreturn x",
    "in a block": "with torch.no_grad():\n    x = self.prepare(x)\nself._capture(x)",
    "one call further": "if self.is_on:\n    x = self.prepare(x)\nreturn self.ready(x)",
}
PASSED_ON = {
    "it returns": "if self.is_on:\n    return self.prepare(x)\nself._capture(x)",
    "it returns behind it": "if self.is_on:\n    y = self.prepare(x)\n    return y\nself._capture(x)",
    "it has captured": "if self.is_on:\n    self._capture(x)\nelse:\n    x = self.prepare(x)\nreturn x",
}


def told(folder: Path, body: str) -> bool:
    text = "\n".join(f"        {line}" for line in body.splitlines())
    return "GL101" in {code for _, _, code in analyse(folder, PROGRAM.format(body=text)).shown}


@pytest.mark.parametrize("form", AGAIN)
def test_what_goes_on_to_capture_is_not_in_the_region(tmp_path: Path, form: str) -> None:
    """It would capture in a capture."""
    assert not told(tmp_path, AGAIN[form])


@pytest.mark.parametrize("form", PASSED_ON)
def test_what_only_passes_on_may_be_in_it(tmp_path: Path, form: str) -> None:
    """A runner that is off, or has its graph."""
    assert told(tmp_path, PASSED_ON[form])


ENGINE = """
import torch

class Engine:
    def __init__(self, model, runner):
        self.model, self.runner = model, runner

    def forward(self, x):
        {before}
        return self.dispatch(x)

    def dispatch(self, x):
        {name} = bool(self.runner and self.runner.{name}(x))
        if {name}:
            return self.runner.execute(x)
        return self.model_forward(x)

    def model_forward(self, x):
        return self.record(x * 2)

    def record(self, x):
        return x.sum().item()

def capture(engine: Engine, x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        engine.{entry}(x)
"""


@pytest.mark.parametrize(
    ("name", "entry", "before", "is_told"),
    [
        ("can_run_graph", "dispatch", "pass", False),
        ("can_use_cuda_graph", "forward", "pass", False),
        ("can_run_cuda_graph", "forward", "self.record(x)", False),
        ("can_run_graph", "model_forward", "pass", True),
        ("can_run_fast", "dispatch", "pass", True),
        ("graph", "forward", "self.record(x)", True),
    ],
    ids=["asks", "calls who asks", "beside who asks", "what is called for it", "asks for something else", "calls that"],
)
def test_what_asks_for_a_graph_to_replay_is_around_regions(
    tmp_path: Path, name: str, entry: str, before: str, is_told: bool
) -> None:
    """It records and measures for each request; what it calls where there is none may be captured."""
    text = ENGINE.format(name=name, entry=entry, before=before)
    found = analyse(tmp_path, text, confidence=Confidence.LOW)
    assert "GL101" in {one.code for one in found.report.findings}
    assert ("GL101" in {code for _, _, code in found.shown}) is is_told


LAUNCHED = """
import torch
from library import Graph

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.built = Graph()

    def forward(self, x):
        self.built.{method}()
        return self.settle(x)

    def settle(self, x):
        torch.cuda.synchronize()
        return x
"""


@pytest.mark.parametrize(("method", "is_told"), [("execute_graph_exec", False), ("launch_graph", False), ("run", True)])
def test_what_launches_a_graph_by_itself_is_around_regions(tmp_path: Path, method: str, is_told: bool) -> None:
    text = LAUNCHED.format(method=method)
    shown = analyse(tmp_path, text, regions=("main:Layer.forward",)).shown
    assert is_told is ("GL103" in {code for _, _, code in shown})
