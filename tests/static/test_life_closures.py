"""Functions that capture and keep the graph: in a function that they return, or in the globals of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

MADE = """
import torch

def graphed(fn, example):
    static = example.clone()
    fn(static); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = fn(static)

    def call(x):
        static.copy_(x)
        graph.replay()
        {returned}
    return call

def main(fn, batches):
    call = graphed(fn, batches[0])
    kept = []
    for batch in batches:
        {used}
    return kept
"""


@pytest.mark.parametrize(
    ("returned", "used"),
    [
        ("return y  # expect: GL510", "kept.append(call(batch))"),
        ("return y", "kept.append(call(batch).clone())"),
        ("return y.clone()", "kept.append(call(batch))"),
        ("return y", "kept.append(call(batch).sum().item())"),
        ("return y", "print(call(batch))"),
    ],
    ids=["kept", "copied by who keeps it", "copied", "read", "shown"],
)
def test_what_an_unknown_function_gives_in_a_region_is_an_output(tmp_path: Path, returned: str, used: str) -> None:
    """The next replay writes over it, whatever it is."""
    analysis = analyse(tmp_path, MADE.format(returned=returned, used=used))
    assert analysis.expected == analysis.shown


GLOBAL = """
import torch

model = torch.nn.Linear(8, 8).cuda()
buffers = {{"x": torch.zeros(16, 8, device="cuda")}}
graphs = {{}}

def graph_for(n):
    if n not in graphs:
        x = buffers["x"][:n]
        model(x); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        graphs[n] = graph, y
    return graphs[n]

def infer(batch):
    n = batch.shape[0]
    if n > len(buffers["x"]):
        {grown}
    graph, y = graph_for(n)
    buffers["x"][:n].copy_(batch)
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(
    "grown",
    [
        'buffers["x"] = torch.zeros(n, 8, device="cuda")  # expect: GL508',
        'buffers["x"] = torch.zeros(n, 8, device="cuda"); graphs.clear()',
        "raise ValueError(n)",
    ],
    ids=["it grows", "graphs go with it", "refused"],
)
def test_a_graph_in_a_global_is_there_for_the_next_call(tmp_path: Path, grown: str) -> None:
    """What one call exchanges, the graph of an earlier one reads."""
    analysis = analyse(tmp_path, GLOBAL.format(grown=grown))
    assert analysis.expected == analysis.shown


COUNTED = """
import torch

table = torch.ones(64, 8, device="cuda")
position = torch.zeros(4, dtype=torch.long, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = table[position].sum(-1)

def decode(n):
    global position
    for _ in range(n):
        graph.replay()
        print(y.sum().item())
        {move}

decode(3)
"""


@pytest.mark.parametrize("move", ["position = position + 1  # expect: GL508", "position += 1"])
def test_a_function_that_declares_a_variable_global_replaces_what_the_graph_of_the_file_reads(
    tmp_path: Path, move: str
) -> None:
    """The names of a file are those that its functions declare."""
    analysis = analyse(tmp_path, COUNTED.format(move=move))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL508"]


METHOD = """
import functools
import torch

def graphed(method):
    made = {{}}

    @functools.wraps(method)
    def call(self, x):
        if "graph" not in made:
            made["x"] = x.clone()
            method(self, made["x"])
            made["graph"] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(made["graph"]):
                made["y"] = method(self, made["x"])
        made["x"].copy_(x)
        made["graph"].replay()
        return made["y"]{copied}
    return call

class Layer:
    def __init__(self, weight):
        self.weight = weight

    @graphed
    def apply(self, x):
        return x @ self.weight

layer, kept = Layer(torch.ones(4, 4, device="cuda")), []
for number in range(3):
    kept.append(layer.apply(torch.full((4, 4), number, device="cuda")))
print(sum(one.sum() for one in kept))
"""


@pytest.mark.parametrize("copied", ["  # expect: GL510", ".clone()"])
def test_a_method_is_what_a_decorator_that_captures_has_made_of_it(tmp_path: Path, copied: str) -> None:
    analysis = analyse(tmp_path, METHOD.format(copied=copied))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL510"]
