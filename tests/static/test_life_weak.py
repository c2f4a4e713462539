"""Inputs of graphs that the program refers to, and does not keep."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

KEPT = """
import torch
import weakref

class Runner:
    def __init__(self, model):
        self.model = model
        self.graphs = {{}}

    def capture(self, size):
        x = torch.zeros(size, 8, device="cuda")
        self.model(x); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(x){mark}
        self.graphs[size] = graph, {kept}, y

    def run(self, x):
        graph, static, y = self.graphs[x.shape[0]]
        static = static() if callable(static) else static
        if static is not None:
            static.copy_(x)
        graph.replay()
        return y.clone()
"""


@pytest.mark.parametrize(
    ("kept", "is_told"),
    [
        ("weakref.ref(x)", True),
        ("weakref.proxy(x)", True),
        ("[weakref.ref(x)]", True),
        ("x", False),
        ("(x, weakref.ref(x))", False),
        ("x if size else weakref.ref(self)", False),
    ],
)
def test_a_weak_reference_keeps_no_input(tmp_path: Path, kept: str, is_told: bool) -> None:
    """Once the function is over, its memory is free, and replay reads it."""
    analysis = analyse(tmp_path, KEPT.format(kept=kept, mark="  # expect: GL507" if is_told else ""))
    assert analysis.expected == analysis.shown


EXCHANGED = """
import torch
import weakref

class Runner:
    def __init__(self, model):
        self.model = model
        self.inputs = [torch.zeros(4, 8, device="cuda") for _ in range(2)]

    def capture(self):
        self.model(*self.inputs); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(*self.inputs)
        {after}

    def run(self, a):
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "after",
    [
        "self.inputs = [weakref.ref(one) for one in self.inputs]  # expect: GL507",
        "self.inputs = []",  # the model may have kept them
        "self.refs = [weakref.ref(one) for one in self.inputs]",
    ],
)
def test_inputs_that_weak_references_replace_are_given_up(tmp_path: Path, after: str) -> None:
    """Nobody else is meant to keep them."""
    analysis = analyse(tmp_path, EXCHANGED.format(after=after))
    assert [one for one in analysis.expected if one[2] == "GL507"] == [
        one for one in analysis.shown if one[2] == "GL507"
    ]
