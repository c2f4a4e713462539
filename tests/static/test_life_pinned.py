"""Pinned memory of a graph that the host reads and writes through an array of NumPy."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

POLICY = """
import torch

class Policy:
    def __init__(self, net):
        self.net = net
        self.staged = torch.zeros(4, 8, pin_memory=True)
        self.actions = torch.zeros(4, 8).pin_memory()
        self.seen = self.staged.numpy()
        self.chosen = self.actions.numpy()
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.x.copy_(self.staged, non_blocking=True)
            self.actions.copy_(self.net(self.x), non_blocking=True)

    def act(self, row):
        {before}
        self.graph.replay()
        {behind}
"""
WAIT = "torch.cuda.synchronize()"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (f"{WAIT}\n        self.seen[:] = row", "return self.chosen.copy()  # expect: GL206"),
        (f"{WAIT}\n        self.seen[:] = row", "return self.chosen[0] + 1  # expect: GL206"),
        (f"{WAIT}\n        self.seen[:] = row", f"{WAIT}\n        return self.chosen.copy()"),
        ("self.seen[:] = 1.0  # expect: GL205", "return None"),
        (f"{WAIT}\n        self.seen[:] = 1.0", "return None"),
        (WAIT, "return self.seen.copy()"),
    ],
    ids=[
        "read",
        "read in part",
        "read behind a wait",
        "written",
        "written behind a wait",
        "what the graph reads is read",
    ],
)
def test_an_array_shares_the_memory_of_a_pinned_tensor(tmp_path: Path, before: str, behind: str) -> None:
    """Whoever touches it has to wait for the replay, as for the tensor."""
    analysis = analyse(tmp_path, POLICY.format(before=before, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL205", "GL206")]


FED = """
import torch

class Feeder:
    def __init__(self, net):
        self.net = net
        self.staged = torch.zeros(4, 8, pin_memory=True)
        self.x = torch.zeros(4, 8, device="cuda")
        net(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net(self.x)

    def run(self, rows):
        for row in rows:
            {written}
            {copied}
            self.graph.replay()
            {behind}
"""
WRITTEN = "self.staged.copy_(row)"
COPIED = "self.x.copy_(self.staged, non_blocking=True)"


@pytest.mark.parametrize(
    ("written", "copied", "behind"),
    [
        (f"{WRITTEN}  # expect: GL205", COPIED, "pass"),
        (f"{WRITTEN}  # expect: GL205", COPIED, "keep(self.y.clone())"),
        (WRITTEN, COPIED, WAIT),
        (WRITTEN, COPIED, "keep(self.y.cpu())"),
        (WRITTEN, "self.x.copy_(self.staged)", "pass"),
        ("self.staged = torch.zeros(4, 8, pin_memory=True).copy_(row)", COPIED, "pass"),
        (WRITTEN, "self.x.copy_(self.staged.clone(), non_blocking=True)", "pass"),
    ],
    ids=["at once", "behind a copy", "waited for", "read", "it waits itself", "another one", "a copy of it"],
)
def test_what_is_copied_for_a_replay_is_not_overwritten_before(
    tmp_path: Path, written: str, copied: str, behind: str
) -> None:
    """The copy may begin only when the host has filled the memory with the next row."""
    analysis = analyse(tmp_path, FED.format(written=written, copied=copied, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL205"]
