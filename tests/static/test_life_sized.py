"""What is compiled for graphs, in a file that says that its sizes vary."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

ENCODER = """
import torch

class Encoder(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = torch.nn.Linear(width, width)
        self.is_compiled = False

    def compile_parts(self):
        self.features = torch.compile(self.features, {options}){expected}
        self.is_compiled = True

    def features(self, pixels):
        return self.layer(pixels)

    def _mark(self, pixels):
        if self.is_compiled:
            torch._dynamo.mark_dynamic(pixels, 0)

    def forward(self, pixels, words):
        self._mark({marked})
        return self.features(pixels), words
"""
GRAPHS, NONE = 'mode="max-autotune"', 'mode="max-autotune-no-cudagraphs"'
EXPECTED = "  # expect: GL505"

DECORATED = """
import torch
from torch._dynamo import maybe_mark_dynamic

@torch.compile(fullgraph=True, mode="reduce-overhead"){expected}
def net(x):
    return x * 2

def serve(x):
    {marking}
    return net(x).clone()
"""

STEPS = """
import torch
{setting}

def mark(tensor):
    return torch._dynamo.mark_dynamic(tensor, 0)

def serve(batches):
    steps = [torch.compile(lambda x, scale: x * scale, options={{"triton.cudagraphs": True}})]  # expect: GL505
    for x in batches:
        x, scale = x.cuda(), torch.ones(4, device="cuda")
        mark({varied})
        with torch.no_grad():
            print(steps[0](x, scale).sum())

serve([torch.ones(4), torch.ones(8)])
"""


@pytest.mark.parametrize(
    "program",
    [
        ENCODER.format(options=GRAPHS, expected=EXPECTED, marked="pixels"),
        DECORATED.format(marking="maybe_mark_dynamic(x, 0)", expected=EXPECTED),
        DECORATED.replace("fullgraph", "dynamic").format(marking="pass", expected=EXPECTED),
        STEPS.format(setting="", varied="x"),
    ],
)
def test_graphs_are_asked_for_and_sizes_that_vary(tmp_path: Path, program: str) -> None:
    """Torch keeps one for each; a function of the file may mark what it is given."""
    analysis = analyse(tmp_path, textwrap.dedent(program))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    "program",
    [
        ENCODER.format(options=NONE, expected="", marked="pixels"),
        ENCODER.format(options=GRAPHS, expected="", marked="words"),
        DECORATED.format(marking="pass", expected=""),
        DECORATED.replace("fullgraph=True", "dynamic=False").format(marking="pass", expected=""),
        STEPS.format(setting="torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True", varied="x").replace(
            EXPECTED, ""
        ),
        STEPS.format(setting="", varied="torch.ones(2)").replace(EXPECTED, ""),
        DECORATED.replace("fullgraph", 'options={{"triton.cudagraph_capture_sizes": (4, 8)}}, fullgraph').format(
            marking="maybe_mark_dynamic(x, 0)", expected=""
        ),
    ],
)
def test_sizes_that_vary_are_none_of_graphs(tmp_path: Path, program: str) -> None:
    """No graphs are asked for, something else was marked, or nothing."""
    assert not analyse(tmp_path, textwrap.dedent(program)).shown
