"""Captures by decorators of the program, and by its own context managers."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

DECORATED = """
import functools
import torch

def graphed(fn):
    cache = {{}}

    @functools.wraps(fn)
    def call(x):
        if x.shape not in cache:
            static = x.clone()
            fn(static); torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = fn(static)
            cache[x.shape] = (graph, static, y)
        graph, static, y = cache[x.shape]
        static.copy_(x)
        graph.replay()
        return {returned}

    return call

@graphed
def act(x):
    return torch.tanh(x)

first = act(torch.ones(4, device="cuda"))
second = act(torch.zeros(4, device="cuda"))
print({used})
"""
MARK = "y  # expect: GL510"


@pytest.mark.parametrize(
    ("returned", "used"),
    [
        (MARK, "first - second"),
        ("y.clone()", "first - second"),
        ("y", "second.sum()"),
    ],
    ids=["kept", "copied", "the last one"],
)
def test_what_a_decorator_captures_is_called_as_it_has_made_it(tmp_path: Path, returned: str, used: str) -> None:
    """Two calls of the function are two replays of one graph."""
    analysis = analyse(tmp_path, DECORATED.format(returned=returned, used=used))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


MANAGED = """
import torch

class Recorder:
    def __init__(self):
        self.graph = torch.cuda.CUDAGraph()

    def __enter__(self):
        torch.cuda.synchronize()
        self.inner = torch.cuda.graph(self.graph)
        self.inner.__enter__()
        return self

    def __exit__(self, *exception):
        return self.inner.__exit__(*exception)

class Net:
    def __init__(self, net):
        self.ids = torch.zeros(4, dtype=torch.long, device="cuda")
        self.bias = torch.zeros(4, 8, device="cuda")
        self.recorder = Recorder()
        with self.recorder:
            self.y = net(self.ids) + self.bias

    def __call__(self, ids, bias):
        self.ids.copy_(ids)
        {filled}
        self.recorder.graph.replay(){mark}
        return self.y.clone()
"""


@pytest.mark.parametrize("filled", ["pass", "self.bias.copy_(bias)"])
def test_a_context_manager_that_enters_another_one_captures(tmp_path: Path, filled: str) -> None:
    """What is done in its block is in the graph."""
    mark = "  # expect: GL512" if filled == "pass" else ""
    analysis = analyse(tmp_path, MANAGED.format(filled=filled, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


SHARED = """
import torch

class Buffers:
    {first}

    @classmethod
    def fill(cls, x):
        {filled}

class Runner(Buffers):
    def __init__(self, net):
        {made}
        self.net = net
        net({read}); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net({read})

    def run(self, x):
        Buffers.fill(x)
        self.graph.replay()
        return self.y.clone()
"""
ZEROS = 'torch.zeros(2, 8, device="cuda")'


@pytest.mark.parametrize(
    ("first", "made", "read"),
    [
        ("x = None", f"Buffers.x = {ZEROS}", "Buffers.x"),
        ("x = None", f"Buffers.x = {ZEROS}", "self.x"),
        ("kept = {}", f"Buffers.kept['x'] = {ZEROS}", "self.kept['x']"),
    ],
    ids=["of the class", "by an object", "in a table"],
)
@pytest.mark.parametrize("is_copied", [False, True])
def test_what_a_class_holds_is_one_for_all(tmp_path: Path, first: str, made: str, read: str, is_copied: bool) -> None:
    """A tensor that takes the place of another one there is not what the graph reads."""
    place = read.replace("self", "cls").replace("Buffers", "cls")
    filled = f"{place}.copy_(x)" if is_copied else f"{place} = x  # expect: GL508"
    analysis = analyse(tmp_path, SHARED.format(first=first, made=made, read=read, filled=filled))
    assert analysis.expected == [one for one in analysis.shown if one[2] in ("GL507", "GL508", "GL512")]
