"""Large engines are rehearsed up to their replays: what is prepared first, held by others, or takes long elsewhere."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.static.life import rehearsal, ways

PREPARED = """
import torch

class Engine:
    def __init__(self, model, config):
        self.model, self.config = model, config
        self.x = self.graph = None

    def prepare(self, size):
        self.x = torch.zeros(size, device="cuda")

    def capture(self):
        assert {asserted}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x):
        assert self.graph is not None
        {refill}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("asserted", ["self.x is not None", "self.x is not None and self.config.size", "self.x"])
@pytest.mark.parametrize("refill", ["self.x = x  # expect: GL508", "self.x.copy_(x)"], ids=["rebound", "copied"])
def test_what_a_capture_asserts_to_be_there_is_set_first(tmp_path: Path, asserted: str, refill: str) -> None:
    analysis = analyse(tmp_path, PREPARED.format(asserted=asserted, refill=refill))
    assert analysis.shown == analysis.expected


ASSERTED = """
import torch

class Pool:
    def __init__(self):
        self.blocks = None

    {fill}

    def block(self):
        assert self.blocks is not None
        return self.blocks[0]

class Engine:
    def __init__(self, model):
        self.pool = Pool()
        self.block = self.pool.block()
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x):
        self.x = x{mark}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("fill", "mark"),
    [
        ("def fill(self, count):\n        self.blocks = list(range(count))", "  # expect: GL508"),
        ("def empty(self):\n        self.blocks = None", ""),
    ],
    ids=["filled", "emptied"],
)
def test_an_object_that_somebody_fills_is_ready(tmp_path: Path, fill: str, mark: str) -> None:
    analysis = analyse(tmp_path, ASSERTED.format(fill=fill, mark=mark))
    assert analysis.shown == analysis.expected


OPTIONAL = """
import torch

class Engine:
    def __init__(self, model):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x, ids=None, lengths=None):
        {check}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "check",
    [
        """
        if ids is None and lengths is None:
            raise ValueError
        self.x = x  # expect: GL508
        """,
        """
        assert ids is not None
        self.x = x + ids  # expect: GL508
        """,
        """
        if ids is not None:
            self.x = ids
        else:
            self.x.copy_(x)
        """,
    ],
    ids=["one of two", "the one", "none is needed"],
)
def test_what_may_be_left_out_is_given_where_it_is_asked_for(tmp_path: Path, check: str) -> None:
    body = textwrap.indent(textwrap.dedent(check).strip(), " " * 8).strip()
    analysis = analyse(tmp_path, OPTIONAL.format(check=body))
    assert analysis.shown == analysis.expected


HELD = """
# file: runner.py
import torch

class Runner:
    def __init__(self, model):
        self.model, self.graph = model, None

    def capture(self, x):
        self.x = x
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):  # expect: GL505
            self.y = self.x * 2

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y{mark}

# file: main.py
import torch
from runner import Runner

class Engine:
    def __init__(self, model, requests):
        self.model, self.runners, self.requests = model, {{}}, requests
        self.capture_all()

    def capture_all(self):
        for size in (1, 2):
            runner = Runner(self.model)
            runner.capture(torch.zeros(size, device="cuda"))
            self.runners[size] = runner

    def step(self):
        batch = self.requests.next()
        {call}
"""


TAKEN = "runner = self.runners[2]\n        first = runner(batch){end}\n        second = runner(batch + 1)"
THERE = "first = self.runners[2](batch){end}\n        second = self.runners[2](batch + 1)"


@pytest.mark.parametrize("call", [TAKEN, THERE], ids=["taken out", "where it is"])
@pytest.mark.parametrize(("end", "mark"), [("", "  # expect: GL510"), (".clone()", "")], ids=["kept", "copied"])
def test_an_engine_is_called_by_what_calls_the_runners_that_it_keeps(
    tmp_path: Path, call: str, end: str, mark: str
) -> None:
    call = f"{call.format(end=end)}\n        return first + second"
    analysis = analyse(tmp_path, HELD.format(call=call, mark=mark))
    assert analysis.shown == analysis.expected


LONG = """
# file: shards.py
def shard(model, rank):
    total = 0
{loops}
    return model, total

# file: main.py
import torch
from shards import shard

class Engine:
    def __init__(self, model, rank):
        self.model, self.total = shard(model, rank)
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {inside}
            self.y = self.x * 2

    def run(self, x):
        {refill}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("inside", ["pass", "shard(model, rank)"], ids=["before", "in the region"])
@pytest.mark.parametrize("refill", ["self.x = x  # expect: GL508", "self.x.copy_(x)"], ids=["rebound", "copied"])
def test_what_takes_long_in_another_file_is_left(tmp_path: Path, inside: str, refill: str) -> None:
    loops = "".join(f"    {'    ' * n}for n{n} in range(4):\n" for n in range(9)) + "    " * 10 + "total += n8"
    analysis = analyse(tmp_path, LONG.format(loops=loops, inside=inside, refill=refill))
    assert analysis.shown == analysis.expected


MANY = """
import torch

GRAPH = None

def graph_for(model):
    global GRAPH, OUT
    if GRAPH is not None:
        return GRAPH, OUT
    GRAPH = torch.cuda.CUDAGraph()
    with torch.cuda.graph(GRAPH):
        OUT = model.held * 2
    return GRAPH, OUT

def generate(model, x, config):
{conditions}
    graph, out = graph_for(model)
    {first}
    {second}
"""
READ, REPLAY = "held = out + 1", "graph.replay()"


@pytest.mark.parametrize(("first", "second"), [(REPLAY, READ), (f"{READ}  # expect: GL509", REPLAY)])
def test_the_ways_through_what_captures_are_gone_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    monkeypatch.setattr(ways, "MAX_RUNS", 3)
    conditions = "".join(f"    if config.flag_{n}:\n        x = x + {n}\n" for n in range(14))
    analysis = analyse(tmp_path, MANY.format(conditions=conditions, first=first, second=second))
    assert analysis.shown == analysis.expected


def test_a_class_whose_methods_capture_in_vain_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which costs the most in large engines: what is captured all the same is told of as before."""
    monkeypatch.setattr(rehearsal, "VAIN", 0)
    call = f"{THERE.format(end='')}\n        return first + second"
    analysis = analyse(tmp_path, HELD.format(call=call, mark="  # expect: GL510"))
    assert analysis.shown == analysis.expected
