"""What is computed before a capture, out of a tensor that the program fills before each replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

ENCODER = """
import torch

def padding(lengths):
    return torch.arange(8, device="cuda")[None] < lengths[:, None]

class Encoder:
    def __init__(self):
        self.x = torch.zeros(2, 8, device="cuda")
        self.lengths = torch.full((2,), 8, device="cuda")

    def capture(self):
        mask = {made}
        self.kept = mask
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * {read}

    def run(self, x, lengths):
        self.x.copy_(x)
        {body}
        self.graph.replay()
        return self.y.clone()
"""
STALE = {
    "a mask": ("padding(self.lengths)", "mask  # expect: GL512", "self.lengths.copy_(lengths)"),
    "a cast": ("self.lengths.half()", "mask[:, None]  # expect: GL512", "self.lengths.copy_(lengths)"),
    "a part of it": ("padding(self.lengths)", "mask[:, :8]  # expect: GL512", "self.lengths[:1].fill_(2)"),
}
FRESH = {
    "computed in the region": ("None", "padding(self.lengths)", "self.lengths.copy_(lengths)"),
    "computed anew": (
        "padding(self.lengths)",
        "mask",
        "self.lengths.copy_(lengths)\n        self.kept.copy_(padding(self.lengths))",
    ),
    "a view": ("self.lengths[:, None]", "mask", "self.lengths.copy_(lengths)"),
    "only its shape": ("torch.ones_like(self.lengths)", "mask[:, None]", "self.lengths.copy_(lengths)"),
    "never filled": ("padding(self.lengths)", "mask", "pass"),
    "read by the graph as well": ("self.lengths.clone()", "(mask - self.lengths)", "self.lengths.copy_(lengths)"),
}


@pytest.mark.parametrize(("made", "read", "body"), [*STALE.values(), *FRESH.values()], ids=[*STALE, *FRESH])
def test_a_result_of_an_input_is_computed_where_the_input_is_read(
    tmp_path: Path, made: str, read: str, body: str
) -> None:
    """Outside of the region it is computed once, and what is filled later never reaches it."""
    analysis = analyse(tmp_path, ENCODER.format(made=made, read=read, body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL512", "GL507")]
