"""What a region is the first to call, in a program that is seen whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.{layer}

    def forward(self, x):
        return self.layer(x)

class Session:
    def __init__(self, net):
        self.net, self.x = net, torch.zeros(2, 4, device="cuda")

    @torch.no_grad()
    def start(self):
        {warm}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x){mark}

session = Session(Net().cuda())
session.start()
"""


@pytest.mark.parametrize(
    "layer, warm, mark",
    [
        ("Linear(4, 4)", "torch.cuda.synchronize()", "  # expect: GL609"),
        ("Linear(4, 4)", "self.net(self.x)", ""),
        ("ReLU()", "torch.cuda.synchronize()", ""),
    ],
)
def test_making_a_layer_warms_up_no_library_that_it_needs(tmp_path: Path, layer: str, warm: str, mark: str) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(layer=layer, warm=warm, mark=mark))
    assert analysis.shown == analysis.expected


WRAPPED = """
import torch

class Graphed:
    def __init__(self, fn, *samples):
        self.samples = samples
        self.graph = torch.cuda.CUDAGraph()
        {warm}
        with torch.cuda.graph(self.graph):
            self.result = fn(*samples){mark}

net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()).cuda()
with torch.no_grad():
    graphed = Graphed(net, torch.zeros(2, 8, device="cuda"))
    graphed.graph.replay()
"""


@pytest.mark.parametrize(
    ("warm", "mark"), [("pass", "  # expect: GL609"), ("fn(*samples); torch.cuda.synchronize()", "")]
)
def test_a_script_gives_no_more_than_it_gives(tmp_path: Path, warm: str, mark: str) -> None:
    """What `*samples` has is known where a program is seen whole, and so is what a model does with it."""
    analysis = analyse(tmp_path, WRAPPED.format(warm=warm, mark=mark))
    assert analysis.shown == analysis.expected
