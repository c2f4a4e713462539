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
