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


SCALED = """
import torch

class Scale:
    def __init__(self):
        self.scale = torch.zeros(1)

    def measure(self, x):
        self.keep(x)

    def keep(self, x):
        self.scale = x.abs().amax(dim=-1, keepdim=True) * 2

    def __call__(self, x):
        return x / self.scale

    def free(self):
        self.scale = {left}

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = Scale(), Scale()

    def forward(self, x):
        self.inner.measure(x)
        {behind}
        return x

class Step:
    def __init__(self):
        self.model, self.x = Model(), torch.zeros(4, device="cuda")

    def show(self):
        print(self.model.inner.scale)

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x)
"""


@pytest.mark.parametrize(
    ("left", "behind", "is_told"),
    [
        ("None", "x = self.inner(x); self.inner.free()", False),
        ("None", "x = self.inner(x); self.outer.free()", True),
        ("None", "self.inner.free(); x = self.inner(x)", True),
        ("None", "x = self.inner(x)", True),
        ("1.0", "x = self.inner(x); self.inner.free()", True),
    ],
    ids=["used and freed", "another one is freed", "freed before", "never freed", "not emptied"],
)
def test_an_object_that_is_emptied_behind_its_use_keeps_nothing(
    tmp_path: Path, left: str, behind: str, is_told: bool
) -> None:
    analysis = analyse(tmp_path, SCALED.format(left=left, behind=behind))
    assert is_told is any(place[2] == "GL501" for place in analysis.shown)
