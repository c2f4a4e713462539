"""One memory that is given for two buffers of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

WORKER = """
import torch
from flashinfer import BatchPrefillWithPagedKVCacheWrapper

class Worker:
    def __init__(self, size: int, graphs: bool):
        self.workspace = torch.zeros(1024, dtype=torch.uint8, device="cuda")
        self.indptr = torch.zeros(size + 1, dtype=torch.int32, device="cuda")
        self.rows = torch.zeros(size + 1, dtype=torch.int32, device="cuda")
        self.wrapper = BatchPrefillWithPagedKVCacheWrapper(
            self.workspace,
            use_cuda_graph={graphs},
            qo_indptr_buf={first},
            paged_kv_indptr_buf={second},{mark}
            scale_buf=None,
            other_buf=None,
        )
"""


@pytest.mark.parametrize("graphs", ["True", "graphs"])
@pytest.mark.parametrize("memory", ["self.indptr", "self.indptr[: size + 1]", "self.indptr[:size + 1]"])
def test_two_buffers_of_a_graph_need_two_memories(tmp_path: Path, graphs: str, memory: str) -> None:
    """What is planned for the second is what the first has, too."""
    program = WORKER.format(graphs=graphs, first=memory, second=memory, mark="  # expect: GL510")
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    ("graphs", "first", "second"),
    [
        ("True", "self.rows", "self.indptr"),
        ("True", "self.indptr[:4]", "self.indptr[4:]"),
        ("False", "self.indptr", "self.indptr"),
        ("True", "None", "None"),
    ],
    ids=["two buffers", "two parts of one", "no graph", "none at all"],
)
def test_buffers_with_a_memory_of_their_own_are_silent(tmp_path: Path, graphs: str, first: str, second: str) -> None:
    """So is what no graph reads."""
    assert not analyse(tmp_path, WORKER.format(graphs=graphs, first=first, second=second, mark="")).found


RUNNER = """
import torch

class Runner:
    def __init__(self, size):
        {made}
        self.step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step()

    def step(self):
        return {high} - {low}

    def run(self, lows: torch.Tensor, highs: torch.Tensor):
        {fill}
        self.graph.replay()
        return self.y.clone()
"""
ATTRIBUTES = {"low": "self.lows", "high": "self.highs"}
ITEMS = {"low": 'self.held["low"]', "high": 'self.held["high"]'}
PLACES = {"low": "self.held[0]", "high": "self.held[1]"}
ZEROS = 'torch.zeros(size, device="cuda")'
EXPECTED = "  # expect: GL510"
TOLD = {
    "attributes": RUNNER.format(
        **ATTRIBUTES,
        made=f"self.lows = self.highs = {ZEROS}",
        fill=f"self.lows.copy_(lows)\n        self.highs.copy_(highs){EXPECTED}",
    ),
    "parts of a list": RUNNER.format(
        **ATTRIBUTES,
        made=f"self.lows, self.highs = [{ZEROS}] * 2",
        fill=f"self.lows[:] = lows\n        self.highs[:] = highs{EXPECTED}",
    ),
    "a table": RUNNER.format(
        **ITEMS,
        made=f'self.held = dict.fromkeys(("low", "high"), {ZEROS})',
        fill=f'self.held["low"].copy_(lows)\n        self.held["high"].copy_(highs){EXPECTED}',
    ),
    "a list": RUNNER.format(
        **PLACES,
        made=f"self.held = [{ZEROS}] * 2",
        fill=f"for held, one in zip(self.held, (lows, highs)):\n            held.copy_(one){EXPECTED}",
    ),
}
SILENT = {
    "two of them": RUNNER.format(
        **PLACES,
        made=f"self.held = [{ZEROS} for _ in range(2)]",
        fill="for held, one in zip(self.held, (lows, highs)):\n            held.copy_(one)",
    ),
    "one name in the region": RUNNER.format(
        low="self.lows",
        high="self.lows",
        made=f"self.lows = self.highs = {ZEROS}",
        fill="self.lows.copy_(lows)\n        self.highs.copy_(highs)",
    ),
    "one source": RUNNER.format(
        **ATTRIBUTES,
        made=f"self.lows = self.highs = {ZEROS}",
        fill="self.lows.copy_(lows)\n        self.highs.copy_(lows)",
    ),
    "reset before": RUNNER.format(
        **ATTRIBUTES,
        made=f"self.lows = self.highs = {ZEROS}",
        fill="self.lows.zero_()\n        self.highs.copy_(highs)",
    ),
    "read between": RUNNER.format(
        **ATTRIBUTES,
        made=f"self.lows = self.highs = {ZEROS}",
        fill="self.lows.copy_(lows)\n        self.highs.copy_(highs + self.lows)",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_one_memory_under_two_names_is_filled_twice(tmp_path: Path, name: str) -> None:
    """It is told where the second one is filled, which the first is lost by."""
    analysis = analyse(tmp_path, TOLD[name])
    assert [one for one in analysis.shown if one[2] == "GL510"] == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_a_memory_that_loses_nothing_is_silent(tmp_path: Path, name: str) -> None:
    assert not [one for one in analyse(tmp_path, SILENT[name]).shown if one[2] == "GL510"]
