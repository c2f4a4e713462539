"""Inputs that say which places a graph writes to, behind which an earlier request is left."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import torch

class Runner:
    def __init__(self, size):
        self.cache = torch.zeros(64, 4, device="cuda")
        self.slots = torch.zeros(size, dtype=torch.long, device="cuda")
        self.keys = torch.zeros(size, 4, device="cuda")
        self.step()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.step()

    def step(self):
        {write}
        return self.keys * 2

    def run(self, slots, keys):
        n = len(slots)
        {reset}
        self.slots[:n] = slots{expected}
        self.keys[:n] = keys
        self.graph.replay()
        return self.out[:n].clone()
"""


def of(write: str, reset: str = "pass", expected: str = "") -> str:
    return textwrap.dedent(RUNNER).format(write=write, reset=reset, expected=expected)


@pytest.mark.parametrize(
    "write",
    [
        "self.cache[self.slots] = self.keys",
        "self.cache[self.slots, :2] = self.keys[:, :2]",
        "self.cache.index_copy_(0, self.slots, self.keys)",
        "self.cache.index_put_((self.slots,), self.keys)",
        "places = self.slots + 1; self.cache.index_copy_(0, places, self.keys)",
        "self.sums = torch.zeros(64, 4, device='cuda').index_add(0, self.slots, self.keys)",
        "self.cache = torch.index_copy(self.cache, 0, self.slots, self.keys)",
    ],
)
def test_places_of_an_earlier_request_are_written_to_again(tmp_path: Path, write: str) -> None:
    """Whatever is cut off of the output; what is written there is told in a low voice."""
    analysis = analyse(tmp_path, of(write, expected="  # expect: GL511"))
    assert [one for one in analysis.shown if one[2] == "GL511"] == analysis.expected


@pytest.mark.parametrize(
    ("write", "reset"),
    [
        ("self.cache[:, self.slots] = 0", "pass"),
        ("self.cache.scatter_(1, self.slots[:, None], self.keys)", "pass"),
        ("self.found = self.cache[self.slots]", "pass"),
        ("self.found = self.cache.index_select(0, self.slots)", "pass"),
        ("self.cache[self.slots] = self.keys", "self.slots[n:] = 63"),
        ("self.cache[self.slots] = self.keys", "self.slots.fill_(63)"),
    ],
    ids=["within rows", "within rows, by a method", "read", "selected", "the rest is filled", "reset"],
)
def test_rows_that_stay_for_themselves_are_silent(tmp_path: Path, write: str, reset: str) -> None:
    """What is read by an old index is cut off with its row."""
    assert not [one for one in analyse(tmp_path, of(write, reset)).shown if one[2] == "GL511"]


def test_what_is_added_up_there_counts_twice(tmp_path: Path) -> None:
    """Then the old rows themselves are told, too: each replay adds them once more."""
    analysis = analyse(tmp_path, of("self.cache.index_add_(0, self.slots, self.keys)", expected="  # expect: GL511"))
    (slots,) = analysis.expected
    keys = (slots[0], slots[1] + 1, slots[2])
    assert [one for one in analysis.shown if one[2] == "GL511"] == [slots, keys]
