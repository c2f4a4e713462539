"""What a module does in training alone is a hint where a region is captured without gradients."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch
from torch import inference_mode

class Layer(torch.nn.Module):
    def forward(self, x):
        if {test}:
            x = x + torch.rand(4).to(x.device)
        return x * 2

class Decoder:
    def __init__(self, layer: Layer):
        self.layer = layer

    {decorator}
    def capture(self, times):
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        {block}
            self.layer(x)
"""
PLAIN = "with torch.cuda.graph(graph):"


@pytest.mark.parametrize(
    ("test", "decorator", "block", "is_told"),
    [
        ("self.training", "", PLAIN, True),
        ("self.training", "@torch.no_grad()", PLAIN, False),
        ("self.training", "@torch.inference_mode", PLAIN, False),
        ("self.training", "", f"with inference_mode(), {PLAIN[5:]}", False),
        ("self.training", "", f"with torch.no_grad():\n          {PLAIN}", False),
        ("self.training", "", f"with torch.enable_grad():\n          {PLAIN}", True),
        ("self.training", "", f"with torch.no_grad():\n          x = x + 1\n        {PLAIN}", True),
        ("not self.training", "@torch.no_grad()", PLAIN, True),
        ("self.training and len(x) > 1", "@torch.no_grad()", PLAIN, False),
        ("self.training or len(x) > 1", "@torch.no_grad()", PLAIN, True),
    ],
)
def test_no_module_trains_where_gradients_are_off(
    tmp_path: Path, test: str, decorator: str, block: str, is_told: bool
) -> None:
    """A decorator says it, or a block around the capture."""
    text = _PROGRAM.format(test=test, decorator=decorator, block=block)
    assert is_told is ("GL202" in {code for _, _, code in analyse(tmp_path, text).shown})


_DECLARED = """
import torch

class Layer(torch.nn.Module):
    {inner}
    def forward(self, x: torch.Tensor):
        if self.training:
            x = x + torch.rand(4).to(x.device)
        return x * 2

class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    {middle}
    def forward(self, x):
        return self.layer(x)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    {outer}
    def forward(self, x: torch.Tensor):
        return self.part(x)
"""


@pytest.mark.parametrize(("at", "is_told"), [("outer", False), ("middle", True), ("inner", True), ("", True)])
def test_a_declared_function_may_say_it_as_well(tmp_path: Path, at: str, is_told: bool) -> None:
    """By its own decorator; one of a part is for what that part does in a step of training."""
    said = dict.fromkeys(("outer", "middle", "inner"), "") | {at: "@torch.no_grad()"}
    text = _DECLARED.format(**{name: said[name] for name in ("outer", "middle", "inner")})
    found = analyse(tmp_path, text, regions=("main:Model.forward",)).shown
    assert is_told is ("GL202" in {code for _, _, code in found})


_HANDED_IN = """
import torch

class Drop(torch.nn.Module):
    def forward(self, x, train):
        if train and len(x) > 1:
            x = x + torch.rand(4).to(x.device)
        return x * 2

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = Drop()

    {decorator}
    def sample(self, x, others):
        return self.drop(x, {given})

class Decoder:
    def __init__(self, layer: Layer):
        self.layer = layer

    def capture(self, others):
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.layer.sample(x, others)
"""


@pytest.mark.parametrize(
    ("decorator", "given", "is_told"),
    [
        ("@torch.no_grad()", "self.training", False),
        ("@torch.no_grad()", "train=self.training", False),
        ("@torch.no_grad()", "others.any", True),
        ("", "self.training", True),
    ],
)
def test_a_caller_may_hand_in_whether_it_trains(tmp_path: Path, decorator: str, given: str, is_told: bool) -> None:
    """And what the region calls may switch gradients off."""
    text = _HANDED_IN.format(decorator=decorator, given=given)
    assert is_told is ("GL202" in {code for _, _, code in analyse(tmp_path, text).shown})
