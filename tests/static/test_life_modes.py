"""Modes of modules that a capture had, and that the program changes before a replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SCRIPT = """
import torch
from torch import nn

net = nn.Sequential({layers}).cuda()
{before}
x = torch.zeros(4, 8, device="cuda")
with torch.no_grad():
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
{behind}
x.fill_(1)
graph.replay()
"""
MODAL = ("nn.Dropout(), nn.Linear(8, 8)", "nn.Linear(8, 8), nn.Dropout()", "nn.Linear(8, 8), nn.Dropout(), nn.ReLU()")


@pytest.mark.parametrize("layers", [*MODAL, "nn.Linear(8, 8), nn.ReLU()"])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("net.train()", "net.eval()"),
        ("net.eval()", "net.train()"),  # as where it is trained between replays of what it infers with
        ("net.eval()", "net.eval()"),
        ("net.train()", "net.eval()\nnet.train()"),
    ],
    ids=["training", "inference", "the same", "there and back"],
)
def test_the_mode_is_switched_behind_the_capture(tmp_path: Path, layers: str, before: str, behind: str) -> None:
    """Whichever layer depends on it: a graph keeps the mode that it was captured in."""
    differs = layers in MODAL and before == "net.train()" and behind == "net.eval()"
    mark = "  # expect: GL405" if differs else ""
    analysis = analyse(tmp_path, SCRIPT.format(layers=layers, before=before, behind=behind + mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL405"]


CAST = """
import torch

net = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.zeros(4, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
{before}
with torch.autocast("cuda", dtype=torch.bfloat16{cache}):{mark}
    {warm}
    with torch.cuda.graph(graph):
        y = net(x)
    {inside}
x.fill_(1)
{behind}
"""


@pytest.mark.parametrize(
    ("before", "warm", "inside", "behind", "is_told"),
    [
        ("pass", "net(x)", "pass", "graph.replay()", True),
        ("pass", "net(x)", "optimizer.step()\n    graph.replay()", "pass", True),
        ("pass", "net(x)", "graph.replay()", "pass", False),
        ("with torch.autocast('cuda'):\n    net(x)", "pass", "pass", "graph.replay()", False),
        ("net.requires_grad_(False)", "net(x)", "pass", "graph.replay()", False),
    ],
    ids=["left behind", "weights that change", "in it all", "another one", "weights without gradients"],
)
@pytest.mark.parametrize("cache", ["", ", cache_enabled=False"], ids=["cached", "not cached"])
def test_autocast_keeps_the_weights_that_a_warm_up_cast(
    tmp_path: Path, cache: str, before: str, warm: str, inside: str, behind: str, is_told: bool
) -> None:
    """They are no part of the graph, and are gone when it ends."""
    mark = "  # expect: GL405" if is_told and not cache else ""
    program = CAST.format(cache=cache, mark=mark, before=before, warm=warm, inside=inside, behind=behind)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL405"]
