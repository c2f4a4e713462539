"""Memory of graphs for several sizes: one pool for all of them, or one for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Severity

RUNNER = """
import torch

class Buckets:
    def __init__(self, net, sizes):
        self.net, self.table = net, {{}}
        {before}
        for n in {sizes}:
            {made}
            {called}
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph{pool}):{mark}
                y = {computed}
            {kept}

    def __call__(self, x):
        if x.shape[0] not in self.table:
            return self.net(x)
        graph, held, y = self.table[x.shape[0]]
        held.copy_(x)
        graph.replay()
        return y.clone()

with torch.no_grad():
    buckets = Buckets(torch.nn.Linear(8, 8).cuda(), (1, 2, 4))
    buckets(torch.ones(2, 8, device="cuda"))
"""
PLAIN = {
    "before": "pool = torch.cuda.graph_pool_handle()",
    "sizes": "sorted(sizes, reverse=True)",
    "made": 'held = torch.zeros(n, 8, device="cuda")',
    "called": "net(held)",
    "pool": "",
    "mark": "",
    "computed": "net(held)",
    "kept": "self.table[n] = graph, held, y",
}
MARK = "  # expect: GL505"
CASES = {
    "one for each": {"mark": MARK},
    "one for each that is appended": {
        "mark": MARK,
        "before": "self.all = []",
        "kept": "self.all.append((graph, held, y))",
    },
    "sizes that nobody knows": {"mark": MARK, "sizes": "net.sizes"},
    "a shared pool": {"pool": ", pool=pool"},
    "that of the first one": {
        "before": "pool = None",
        "pool": ", pool",
        "kept": "self.table[n] = graph, held, y\n            pool = pool or graph.pool()",
    },
    "one size": {"made": 'held = torch.zeros(8, 8, device="cuda")'},
    "a single graph": {"sizes": "(4,)"},
    "graphs that go again": {"kept": "graph.replay()"},
    "graphs that are replayed as they come": {"kept": "graph.replay()\n            self.table[n] = graph, held, y"},
}


@pytest.mark.parametrize("name", CASES)
def test_graphs_of_several_sizes_share_a_pool(tmp_path: Path, name: str) -> None:
    """One is replayed at a time, and what each needs is of use to the others."""
    analysis = analyse(tmp_path, RUNNER.format(**PLAIN | CASES[name]), select=("GL505",))
    told = [one for one in analysis.report.findings if "pool" in one.message]
    assert analysis.expected == [("main.py", one.span.line, one.code) for one in told]
    assert {one.severity for one in told} <= {Severity.NOTE}


WARP = """
import torch
import warp as wp

class Buckets:
    def __init__(self, net, sizes):
        self.table = {}
        for n in sizes:
            held = torch.zeros(n, 8, device="cuda")
            net(held)
            with wp.ScopedCapture() as capture:
                y = net(held)
            self.table[n] = capture.graph, held, y

Buckets(torch.nn.Linear(8, 8).cuda(), (1, 2, 4))
"""


def test_graphs_of_another_library_have_no_pool_of_torch(tmp_path: Path) -> None:
    assert [] == [one for one in analyse(tmp_path, WARP).shown if one[2] == "GL505"]


STAGES = """
import torch

stages = [{stage} for _ in range(2)]
inputs = [torch.randn(4, 8, device="cuda") for _ in range(2)]
graphs, outs = [], []
with torch.no_grad():
    for stage, x in zip(stages, inputs):
        stage(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            outs.append(stage(x))
        graphs.append(graph)
    for graph in graphs:
        graph.replay()
"""
ANEW = """
import torch

def captured(x, k):
    y = x * k
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * k
    return graph, y

x = torch.ones(8, device="cuda")
graphs = [captured(x, k) for k in (1.0, 2.0, 3.0)]
for graph, y in graphs:
    graph.replay()
    print(y.sum().item())
"""


@pytest.mark.parametrize(
    "program",
    [STAGES.format(stage="torch.nn.Linear(8, 8).cuda()"), ANEW],
    ids=["one for each module", "one for each number"],
)
def test_a_list_of_graphs_has_one_for_each_of_what_is_there(tmp_path: Path, program: str) -> None:
    """Which is no graph that is captured anew."""
    assert [] == [one for one in analyse(tmp_path, program).shown if one[2] == "GL505"]
