"""What a run does at most: functions whose arguments are of ever other kinds are run for a few of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from analysis import analyse

from graphlint.static.interpreter import interpreter
from graphlint.static.interpreter.interpreter import FEW_VARIANTS, Interpreter

KINDS = """
import torch

def scaled(x, kind):
    return x * x.sum().item()

def step(x: torch.Tensor):
    scaled(x, 1), scaled(x, 2.0), scaled(x, "a"), scaled(x, b"b"), scaled(x, None), scaled(x, (1,))
    scaled(x, [2.0]), scaled(x, {"c": 1}), scaled(x, {1}), scaled(x, (1, 2)), scaled(x, (1, "a"))

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step(torch.ones(2, device="cuda"))
"""


@pytest.mark.parametrize("is_used_up", [False, True])
def test_a_function_gets_a_few_contexts_when_there_are_too_many_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_used_up: bool
) -> None:
    """What it does is still told."""
    runs: Counter[str] = Counter()
    execute = Interpreter.execute

    def counted(self: Interpreter, frame: Any, body: Any) -> None:
        runs[frame.function.qualname] += 1
        execute(self, frame, body)

    monkeypatch.setattr(Interpreter, "execute", counted)
    monkeypatch.setattr(interpreter, "MAX_CONTEXTS", 1 if is_used_up else 1000)
    found = analyse(tmp_path, KINDS).found
    assert [("main.py", 5, "GL101")] == found
    assert (runs["scaled"] <= FEW_VARIANTS) is is_used_up


MADE = """
import torch

class Reader:
    def read(self, x):
        return x.item()

class Keeper:
    def read(self, x):
        return x

class Step:
    def __init__(self, part):
        self.part = part

    def __call__(self, x):
        return self.part.read(x)

def waste(n):
    return n

def main():
    waste(1), waste("a"), waste(None), waste(b"b")
    step = Step({part}())
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(torch.ones(1, device="cuda"))
"""


@pytest.mark.parametrize(("part", "found"), [("Reader", [("main.py", 6, "GL101")]), ("Keeper", [])])
def test_objects_that_a_region_asks_for_are_made_whatever_ran_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, found: list[tuple[str, int, str]]
) -> None:
    """What a script runs before its region has a bound, and the constructors that the region needs have their own."""
    monkeypatch.setattr(interpreter, "MAX_OUTSIDE", 3)
    assert analyse(tmp_path, MADE.format(part=part)).found == found


def test_a_key_that_holds_much_is_not_spelt(tmp_path: Path) -> None:
    """Objects that stand for dict keys are told apart by what they are: spelt, these would take a million years."""
    nodes = "\n".join(f"    n{i} = Node(n{i - 1}, n{i - 1})" for i in range(1, 60))
    program = f"""
import torch

class Node:
    def __init__(self, left, right):
        self.left, self.right = left, right

def main(x):
    n0 = Node(None, None)
{nodes}
    held = {{}}
    held.update({{n59: x}})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = held[n59] * 2
    del held[n59]
    graph.replay()
    return y.clone()
"""
    assert analyse(tmp_path, program).report.summary.regions == 1


RESIDUAL = """
import torch

@torch.compile
def head(x):
    return x * 2

def run():
    layer = torch.nn.Linear(4, 4).cuda()
    x = torch.zeros(4, device="cuda")
    {added}
    for _ in range(3):
        head(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = head(x)
"""


def test_what_layers_share_is_looked_at_once(tmp_path: Path) -> None:
    """Each adds to what it is given: there are more ways back through sixty of them than anybody can go."""
    added = "\n    ".join(["x = x + layer(x)"] * 60)
    assert analyse(tmp_path, RESIDUAL.format(added=added)).report.summary.regions == 1
