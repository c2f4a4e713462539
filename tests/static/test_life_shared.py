"""Graphs that share a pool, and classes that use what replays."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

TWO = """
import torch

class Two:
    def __init__(self, encoder, decoder):
        self.x = torch.zeros(4, 8, device="cuda")
        self.t = torch.zeros(4, 8, device="cuda")
        encoder(self.x); decoder(self.t); torch.cuda.synchronize()
        {pool}
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.first{one}):
            self.coded = encoder(self.x)
        with torch.cuda.graph(self.second{other}):
            self.decoded = decoder(self.t)

    def run(self, x, t):
        self.x.copy_(x)
        self.t.copy_(t)
        {replays}
"""
HANDLE = "pool = torch.cuda.graph_pool_handle()"
GIVEN = ", pool=pool"
LATE = "self.second.replay(); self.first.replay(); return self.coded + self.decoded"


@pytest.mark.parametrize(
    ("pool", "one", "other", "replays"),
    [
        (HANDLE, GIVEN, GIVEN, LATE + "  # expect: GL510"),
        ("pass", "", ", pool=self.first.pool()", LATE + "  # expect: GL510"),
        ("pass", "", "", LATE),
        (HANDLE, GIVEN, "", LATE),
        (HANDLE, GIVEN, GIVEN, "self.first.replay(); self.second.replay(); return self.coded + self.decoded"),
        (
            *(HANDLE, GIVEN, GIVEN),
            "self.second.replay(); y = self.decoded.clone(); self.first.replay(); return self.coded + y",
        ),
    ],
    ids=["a handle", "the pool of the first", "pools of their own", "one of its own", "in order", "copied before"],
)
def test_a_graph_works_in_the_outputs_of_later_captures_of_its_pool(
    tmp_path: Path, pool: str, one: str, other: str, replays: str
) -> None:
    """What it let go at its capture, the next one took for its outputs."""
    analysis = analyse(tmp_path, TWO.format(pool=pool, one=one, other=other, replays=replays))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


OWN = """
import torch
from torch import nn

class Two:
    def __init__(self):
        self.encoder, self.decoder = {encoder}, nn.Linear(8, 8).cuda()
        self.x = torch.zeros(4, 8, device="cuda")
        self.encoder(self.x); self.decoder(self.x); torch.cuda.synchronize()
        pool = torch.cuda.graph_pool_handle()
        self.first, self.second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.first, pool=pool):
            self.coded = self.encoder(self.x)
        with torch.cuda.graph(self.second, pool=pool):
            self.decoded = self.decoder(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.second.replay(); self.first.replay()
        return self.coded + self.decoded{mark}
"""


@pytest.mark.parametrize(
    ("encoder", "is_told"),
    [
        ("nn.Linear(8, 8).cuda()", False),
        ("nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)).cuda()", True),
        ("nn.TransformerEncoderLayer(8, 2).cuda()", True),
    ],
)
def test_a_single_layer_needs_no_memory_that_another_graph_could_take(
    tmp_path: Path, encoder: str, is_told: bool
) -> None:
    """It gives its output, which is held."""
    mark = "  # expect: GL510" if is_told else ""
    analysis = analyse(tmp_path, OWN.format(encoder=encoder, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


USED = """
import torch

class Draft:
    def __init__(self, head):
        self.head = head
        self.hidden = torch.zeros(4, 8, device="cuda")
        head(self.hidden); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.tokens = head(self.hidden)

    def propose(self):
        self.graph.replay()
        return self.tokens.clone()

class Speculator:
    def __init__(self, target, head):
        self.target, self.draft = target, Draft(head)

    def step(self, ids):
        hidden = self.target(ids)
        {filled}
        return self.draft.propose()
"""


@pytest.mark.parametrize(
    "filled", ["self.draft.hidden = hidden  # expect: GL508", "self.draft.hidden.copy_(hidden)", "self.hidden = hidden"]
)
def test_who_uses_what_replays_fills_its_inputs(tmp_path: Path, filled: str) -> None:
    """By the methods that call those which replay."""
    analysis = analyse(tmp_path, USED.format(filled=filled))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]
