"""Regions that launch nothing, and those of which that is not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import functools
import torch
import library

class Table:
    def __init__(self):
        self.rows = torch.ones(8, 4, device="cuda")
        self.ids = torch.zeros(2, dtype=torch.long, device="cuda")
        self.known = {{}}

    def look(self, key):
        if key not in self.known:
            self.known[key] = self.rows.index_select(0, self.ids)
        return self.known[key]

    @functools.cached_property
    def all(self):
        return self.rows * 2

    def fresh(self):
        return self.rows.index_select(0, self.ids)

    def capture(self):
        {warm}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):{mark}
            y = {body}
        return graph, y

table = Table()
graph, y = table.capture()
for _ in range(3):
    table.ids.random_(0, 8)
    graph.replay()
"""
EMPTY = {
    "a table has it": ("self.look(2)", "self.look(2)"),
    "a property has it": ("self.all", "self.all"),
    "it is put off": ("self.fresh()", "lambda: self.fresh()"),
}
FULL = {
    "the table has another one": ("self.look(2)", "self.look(4)"),
    "it is computed": ("self.fresh()", "self.fresh()"),
    "a stranger is called": ("self.fresh()", "library.look(self)"),
    "the property is new": ("self.fresh()", "self.all"),
}


@pytest.mark.parametrize("name", EMPTY)
def test_a_region_that_finds_everything_done_has_an_empty_graph(tmp_path: Path, name: str) -> None:
    warm, body = EMPTY[name]
    analysis = analyse(tmp_path, PROGRAM.format(warm=warm, body=body, mark="  # expect: GL901"))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL901"]


MODULE = """
import torch

class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.known = torch.nn.Linear(4, 4), None

    def forward(self, x):
        if self.known is None:
            self.known = self.inner(x)
        return {given}

net, x = Encoder().cuda(), torch.ones(2, 4, device="cuda")
{warm}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):{mark}
    y = net(x)
x.normal_()
graph.replay()
"""


@pytest.mark.parametrize(
    ("given", "warm", "mark"),
    [
        ("self.known", "net(x)", "  # expect: GL901"),
        ("self.known", "net.inner(x)", ""),
        ("self.known + x", "net(x)", ""),
        ("self.inner(x)", "net(x)", ""),
    ],
    ids=["it is kept", "it is not kept yet", "it is used", "it is computed"],
)
def test_a_module_launches_what_its_forward_launches(tmp_path: Path, given: str, warm: str, mark: str) -> None:
    """To be given tensors is no work yet."""
    analysis = analyse(tmp_path, MODULE.format(given=given, warm=warm, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL901"]


@pytest.mark.parametrize("name", FULL)
def test_a_region_that_works_or_may_work_is_not_called_empty(tmp_path: Path, name: str) -> None:
    warm, body = FULL[name]
    shown = analyse(tmp_path, PROGRAM.format(warm=warm, body=body, mark="")).shown
    assert all(code != "GL901" for _, _, code in shown)


POOLS = """
import torch

net, pool = torch.nn.Linear(4, 4).cuda(), torch.cuda.graph_pool_handle()
stream, table = torch.cuda.Stream(), {{}}
with torch.no_grad():
    for n in (8, 4):
        x = torch.zeros(n, 4, device="cuda")
        net(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool, stream={stream}):
            y = net(x)
        table[n] = graph, x, y
"""


@pytest.mark.parametrize("stream, mark", [("torch.cuda.Stream()", "GL505"), ("stream", None)])
def test_a_pool_that_captures_share_is_used_on_one_stream(tmp_path: Path, stream: str, mark: str | None) -> None:
    analysis = analyse(tmp_path, POOLS.format(stream=stream))
    assert [code for _, _, code in analysis.shown] == ([mark] if mark else [])


ON_HOST = """
import torch

class Host:
    def __init__(self):
        self.x = torch.zeros(4{where})
        self.body()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):{mark}
            self.y = self.body()

    def body(self):
        {body}

    def run(self, value):
        self.x.fill_(value)
        self.graph.replay()
        return self.y.clone()

print(Host().run(3.0))
"""
HOST_BODIES = {
    "operators": "return self.x * 2 + 1",
    "functions": "return torch.relu(torch.add(self.x, 1.0))",
    "methods in place": "return self.x.clone().mul_(2)",
}
DEVICE_BODIES = {
    "it is copied there": 'return self.x.to("cuda") * 2',
    "it is made there": 'return torch.ones_like(self.x, device="cuda")',
    "it is added there": 'return torch.ones(4, device="cuda") + self.x[0]',
    "a stranger has it": "return stranger(self.x)",
}


@pytest.mark.parametrize("name", HOST_BODIES)
def test_a_region_that_computes_on_the_host_has_an_empty_graph(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, ON_HOST.format(where="", mark="  # expect: GL901", body=HOST_BODIES[name]))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL901"]


@pytest.mark.parametrize("name", DEVICE_BODIES)
def test_a_region_that_may_compute_on_the_device_has_a_graph(tmp_path: Path, name: str) -> None:
    analysis = analyse(tmp_path, ON_HOST.format(where="", mark="", body=DEVICE_BODIES[name]))
    assert [] == [one for one in analysis.shown if one[2] == "GL901"]


def test_a_region_whose_input_lies_on_the_device_has_a_graph(tmp_path: Path) -> None:
    program = ON_HOST.format(where=', device="cuda"', mark="", body=HOST_BODIES["operators"])
    assert [] == analyse(tmp_path, program).shown
