"""Hooks that a module gets behind the capture of its graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Runner:
    def __init__(self, net):
        self.net, self.x = net, torch.zeros(2, 4, device="cuda")

    def capture(self):
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

def doubled(module, given, result):
    return result * 2

other = torch.nn.Linear(4, 4).cuda()
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).cuda()
runner = Runner(net)
{before}
runner.capture()
{behind}
runner.run(torch.ones(2, 4, device="cuda"))
"""
MARK = "  # expect: GL706"
SILENT = {
    "before the capture": ("net.register_forward_hook(doubled)", "pass"),
    "it is removed": ("pass", "hook = net.register_forward_hook(doubled)\nhook.remove()"),
    "the module runs eagerly": (
        "pass",
        'net.register_forward_hook(doubled)\nnet(torch.ones(2, 4, device="cuda"))',
    ),
    "another module": ("pass", "other.register_forward_hook(doubled)"),
    "it is captured again": ("pass", "net.register_forward_hook(doubled)\nrunner.capture()"),
}


@pytest.mark.parametrize("module", ["net", "net[0]", "runner.net"])
def test_a_hook_behind_the_capture_is_never_called(tmp_path: Path, module: str) -> None:
    """A part of the module has no code that a replay runs either."""
    behind = f"{module}.register_forward_hook(doubled){MARK}"
    analysis = analyse(tmp_path, PROGRAM.format(before="pass", behind=behind))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL706"]


@pytest.mark.parametrize("name", SILENT)
def test_a_hook_that_somebody_calls_is_silent(tmp_path: Path, name: str) -> None:
    before, behind = SILENT[name]
    analysis = analyse(tmp_path, PROGRAM.format(before=before, behind=behind))
    assert [] == [one for one in analysis.shown if one[2] == "GL706"]
