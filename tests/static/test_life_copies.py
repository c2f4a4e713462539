"""Copies into what a graph reads, of data that may have fewer rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

ROWS = """
import torch

class Ranker:
    def __init__(self, rows):
        self.queries = torch.zeros(rows, 4, device="cuda")
        self.bias = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = (self.queries + self.bias).sum(-1)

    def run(self, queries):
        self.queries.copy_(queries){mark}
        self.graph.replay()
        return self.y.clone()

def main():
    return Ranker({rows}).run({given})
"""


@pytest.mark.parametrize(
    ("rows", "given", "is_told"),
    [
        ("8", "torch.ones(1, 4, device='cuda')", True),
        ("8", "torch.ones(8, 4, device='cuda')", False),
        ("1", "torch.ones(1, 4, device='cuda')", False),
        ("8", "torch.ones(4, device='cuda')", False),
        ("8", "torch.tensor(0.0, device='cuda')", False),
    ],
    ids=["one row for several", "as many", "one row for one", "a row, whatever they are", "a number"],
)
def test_a_single_row_is_copied_over_several(tmp_path: Path, rows: str, given: str, is_told: bool) -> None:
    """What has fewer dimensions is meant to be spread."""
    mark = "  # expect: GL511" if is_told else ""
    analysis = analyse(tmp_path, ROWS.format(rows=rows, given=given, mark=mark) + "\nmain()\n")
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL511"]


LOADER = """
import torch
from torch.utils.data import DataLoader, TensorDataset

def train(net, data):
    loader = DataLoader({data}, {options})
    x = torch.zeros(8, 4, device="cuda")
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    for {target} in loader:
        {guard}
        {copy}
        graph.replay()
        print(y.sum())
"""


@pytest.mark.parametrize(
    ("data", "options", "guard", "copy", "is_told"),
    [
        ("data", "batch_size=8", "pass", "x.copy_(batch)", True),
        ("data", "batch_size=8, shuffle=True", "pass", "x.copy_(batch.cuda())", True),
        ("TensorDataset(torch.zeros(33, 4))", "batch_size=8", "pass", "x.copy_(batch)", True),
        ("TensorDataset(torch.zeros(32, 4))", "batch_size=8", "pass", "x.copy_(batch)", False),
        ("data", "batch_size=8, drop_last=True", "pass", "x.copy_(batch)", False),
        ("data", "batch_size=1", "pass", "x.copy_(batch)", False),
        ("data", "batch_size=8", "if len(batch) < 8:\n            break", "x.copy_(batch)", False),
        ("data", "batch_size=8", "n = batch.shape[0]", "x[:n].copy_(batch)", False),
        ("data", "batch_size=8", "pass", "x.copy_(pad(batch))", False),
    ],
    ids=["any data", "moved", "a rest", "no rest", "dropped", "one by one", "asked for", "a part", "padded"],
)
@pytest.mark.parametrize("target", ["batch", "(batch,)", "batch, labels"])
def test_the_last_batch_of_a_loader_is_smaller(
    tmp_path: Path, target: str, data: str, options: str, guard: str, copy: str, is_told: bool
) -> None:
    """Unless it is dropped, or there are as many as make up batches."""
    mark = "  # expect: GL511" if is_told else ""
    program = LOADER.format(data=data, options=options, target=target, guard=guard, copy=copy + mark)
    analysis = analyse(tmp_path, program)
    is_shown = [place for place in analysis.shown if place[2] == "GL511"]
    assert analysis.expected == [place for place in is_shown if "x[:n]" not in copy]
