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
        ("net.eval()", "net.train()"),
        ("net.eval()", "net.eval()"),
        ("net.train()", "net.eval()\nnet.train()"),
    ],
    ids=["training", "inference", "the same", "there and back"],
)
def test_the_mode_is_switched_behind_the_capture(tmp_path: Path, layers: str, before: str, behind: str) -> None:
    """Whichever layer depends on it: a graph keeps the mode that it was captured in."""
    differs = layers in MODAL and before != behind and "\n" not in behind
    mark = "  # expect: GL405" if differs else ""
    analysis = analyse(tmp_path, SCRIPT.format(layers=layers, before=before, behind=behind + mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL405"]
