"""What a block around a region gives None for as long as it is open: nothing in the graph finds something there."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import contextlib
import torch

def measured(clock, x):
    if clock is None or not clock.runs:
        return x * 2
    torch.cuda.synchronize()
    return x * 2

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self._clock = None

    def forward(self, x):
        return measured(getattr(self, "_clock", None), x)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

@contextlib.contextmanager
def serving(layers, clock):
    for layer in layers:
        layer._clock = clock
    try:
        yield
    finally:
        for layer in layers:
            layer._clock = None

def tuned(model, clock):
    {other}

class Step:
    def __init__(self):
        self.model, self.x = Model(), torch.zeros(4, device="cuda")

    def capture(self, layers, clock):
        with serving(layers, None):
            self.model(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with serving(layers, {given}):
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)

    def run(self, layers, clock, x):
        with serving(layers, clock):
            return self.model(x)
"""


@pytest.mark.parametrize(
    ("given", "other", "is_told"),
    [
        ("None", "pass", False),
        ("clock=None", "pass", False),
        ("clock", "pass", True),
        ("clock or None", "pass", True),
        ("None", "model.layers[0]._clock = clock", True),
    ],
    ids=["nothing", "by name", "one", "perhaps one", "set by another"],
)
def test_a_block_around_a_region_says_what_its_layers_hold(
    tmp_path: Path, given: str, other: str, is_told: bool
) -> None:
    found = analyse(tmp_path, PROGRAM.format(given=given, other=other)).shown
    assert is_told is ("GL103" in {code for _, line, code in found if line < 20})
