"""What a layer leaves in an attribute for its caller, which takes it up behind the call: nothing outlives the pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pending = None

    def forward(self, x):
        if self.pending is not None:
            x = x + self.pending
        self.pending = x * 2
        return x

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer() for _ in range(4)])

    def forward(self, x):
        for layer in self.layers:
            {before}
            x = layer(x)
            {behind}
        {last}
        return x

class Step:
    def __init__(self):
        self.model, self.x = Model(), torch.zeros(4, device="cuda")

    def capture(self):
        self.model(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)
"""
TAKES = "if layer.pending is not None: x = x + layer.pending; layer.pending = None"


@pytest.mark.parametrize(
    ("before", "behind", "last", "is_told"),
    [
        ("pass", TAKES, "pass", False),
        ("pass", "pass", TAKES.replace("layer.", "self.layers[-1]."), False),
        (TAKES, "pass", "pass", True),
        ("pass", "x = x + layer.pending", "pass", True),
        ("pass", "layer.pending = None", "pass", True),
        ("pass", TAKES.replace("= None", "= x"), "pass", True),
        ("pass", "pass", "pass", True),
    ],
    ids=["behind each", "behind all", "in front", "only read", "only dropped", "kept on", "nothing"],
)
def test_what_a_caller_takes_up_behind_its_call_is_kept_by_nobody(
    tmp_path: Path, before: str, behind: str, last: str, is_told: bool
) -> None:
    text = PROGRAM.format(before=before, behind=behind, last=last)
    assert is_told is ("GL501" in {code for _, _, code in analyse(tmp_path, text).shown})
