"""State that a capture is given by a name which is part of the key of its graph has a graph for each value."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import torch

class Context:
    def __init__(self):
        self.rows = 0

CONTEXT = Context()

def get_context():
    return CONTEXT

def set_context(rows=0):
    global CONTEXT
    CONTEXT = Context()
    CONTEXT.rows = rows

def step(x):
    return torch.narrow(x, 0, 0, get_context().rows) * 2

class Runner:
    def __init__(self, sizes):
        self.graphs = {{}}
        self.x = torch.zeros(8, device="cuda")
        self.capture(sizes)

    def capture(self, sizes):
        for n in sizes:
            {given}
            step(self.x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step(self.x)
            {kept}

    def eager(self, x, n):
        context = get_context()
        context.rows = n
        return step(x)

    def run(self, x, n):
        if n > 64:
            return self.eager(x, n)
        self.x.copy_(x)
        {picked}.replay()
"""


@pytest.mark.parametrize(
    ("given", "kept", "picked", "is_told"),
    [
        ("set_context(rows=n)", "self.graphs[n] = graph", "self.graphs[n]", False),
        ("set_context(rows=n)", "self.graphs[(n, 2)] = graph", "self.graphs[(n, 2)]", False),
        ("context = get_context(); context.rows = n", "self.graphs[n] = graph", "self.graphs[n]", False),
        ("set_context(rows=n)", "self.graphs['last'] = graph", "self.graphs['last']", True),
        ("set_context(rows=4)", "self.graphs[n] = graph", "self.graphs[n]", True),
        ("set_context(rows=n)", "self.graph = graph", "self.graph", True),
        ("pass", "self.graphs[n] = graph", "self.graphs[n]", True),
    ],
)
def test_what_picks_the_graph_is_no_value_of_another_one(
    tmp_path: Path, given: str, kept: str, picked: str, is_told: bool
) -> None:
    found = analyse(tmp_path, RUNNER.format(given=given, kept=kept, picked=picked)).shown
    assert ("GL402" in {code for _, _, code in found}) is is_told
