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
