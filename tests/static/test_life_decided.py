"""Conditions of a region on attributes that are given something else behind its capture."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Block:
    def __init__(self, weight):
        self.weight, self.bias, self.causal = weight, None, False
        self.x, self.graphs = torch.zeros(4, 4, device="cuda"), dict()

    def compute(self):
        y = self.x @ self.weight
        {asked}
            y = y.tril()
        return y

    def record(self):
        self.compute()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.compute()

    def run(self, x):
        {before}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

block = Block(torch.ones(4, 4, device="cuda"))
block.record()
{change}
for _ in range(2):
    print(block.run(torch.ones(4, 4, device="cuda")))
"""
MARK = "  # expect: GL402"
BIAS = 'block.bias = torch.ones(4, device="cuda")'
TOLD = {
    "it was not there": (f"if self.bias is not None:{MARK}", BIAS),
    "it was not there, the other way round": (f"if self.bias is None:{MARK}", BIAS),
    "a switch is turned": (f"if self.causal:{MARK}", "block.causal = True"),
}
SILENT = {
    "it is given nothing": ("if self.bias is not None:", "pass", "block.bias = None"),
    "it is taken back": ("if self.bias is not None:", "pass", f"{BIAS}\nblock.bias = None"),
    "it is something else, and there": ("if self.weight is not None:", "pass", "block.weight.add_(1)"),
    "whoever replays asks": ("if self.bias is not None:", "assert self.bias is None", BIAS),
    "it is set before the capture": ("if self.bias is not None:", "pass", f"{BIAS}\nblock.record()"),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_condition_that_would_come_out_otherwise_by_the_replay_is_decided_at_capture(
    tmp_path: Path, name: str
) -> None:
    asked, change = TOLD[name]
    analysis = analyse(tmp_path, PROGRAM.format(asked=asked, before="pass", change=change))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


@pytest.mark.parametrize("name", SILENT)
def test_a_condition_that_comes_out_the_same_is_silent(tmp_path: Path, name: str) -> None:
    asked, before, change = SILENT[name]
    analysis = analyse(tmp_path, PROGRAM.format(asked=asked, before=before, change=change))
    assert [] == [one for one in analysis.shown if one[2] == "GL402"]


KEYED = """
import torch

class Attention:
    def __init__(self):
        self.causal, self.graphs = False, {{}}

    def compute(self, x):
        if self.causal:{mark}
            x = x.tril()
        return x.softmax(-1)

    def run(self, x):
        key = {key}
        if key not in self.graphs:
            buffer = x.clone()
            self.compute(buffer)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.compute(buffer)
            self.graphs[key] = graph, buffer, y
        graph, buffer, y = self.graphs[key]
        buffer.copy_(x)
        graph.replay()
        return y.clone()

attention = Attention()
for causal in (False, True):
    attention.causal = causal
    print(attention.run({given}))
"""
ONES = 'torch.ones(4, 4, device="cuda")'


@pytest.mark.parametrize(
    ("key", "given", "mark"),
    [
        ("x.shape[0]", ONES, MARK),
        ("(x.shape[0], self.causal)", ONES, ""),
        ("(x.shape[0], self.causal)", 'torch.load("x.pt")', ""),  # of a size that nobody knows
    ],
)
def test_a_switch_that_is_no_part_of_the_key_is_decided_by_the_first_call(
    tmp_path: Path, key: str, given: str, mark: str
) -> None:
    analysis = analyse(tmp_path, KEYED.format(key=key, given=given, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


LATE = """
import torch

class Filter:
    def __init__(self):
        self.amount, self.graph = 1, None
        self.rows = torch.ones(4, 4, device="cuda")

    def compute(self, x):
        {own}
        {used}
        return x

    def apply(self, x):
        if self.graph is None:
            self.x = x.clone()
            self.compute(self.x)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.compute(self.x)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def tune(self, amount):
        self.amount = amount

filtering = Filter()
for amount in {amounts}:
    filtering.tune(amount)
    print(filtering.apply(torch.ones(4, 4, device="cuda")).sum())
"""
USES = {
    "a factor": "x = x * self.amount",
    "an argument": "x = x.roll(self.amount)",
    "an end": "x = x[: self.amount] + 1",
    "an item": "x = x + self.rows[self.amount]",
    "a count": "for _ in range(self.amount): x = x + 1",
}


@pytest.mark.parametrize("name", USES)
def test_a_number_that_is_set_before_each_call_is_that_of_the_call_which_captures(tmp_path: Path, name: str) -> None:
    """Where the first call captures, what stands in front of it comes too late the next time."""
    used = f"{USES[name]}{MARK}"
    analysis = analyse(tmp_path, LATE.format(own="pass", used=used, amounts="(1, 2)"))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


@pytest.mark.parametrize(
    ("own", "used", "amounts"),
    [
        ("pass", "x = x * self.amount", "(1, 1)"),
        ("self.amount = 3", "x = x * self.amount", "(1, 2)"),
        ("pass", "print(self.amount)", "(1, 2)"),
    ],
    ids=["it stays", "the region sets it", "nothing is computed with it"],
)
def test_a_number_that_is_the_same_or_no_matter_of_the_region_is_silent(
    tmp_path: Path, own: str, used: str, amounts: str
) -> None:
    analysis = analyse(tmp_path, LATE.format(own=own, used=used, amounts=amounts))
    assert [] == [one for one in analysis.shown if one[2] == "GL402"]
