"""`graphlint init`: what models make their `forward` when they are made, and what is hooked to layers of others."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

CHOSEN = """
# file: quant/__init__.py
# file: quant/layers.py
import torch
from torch import nn

class Base(nn.Module):
    def run(self, x):
        return x * 2

class Layer({base}):
    def __init__(self, kind):
        super().__init__()
        if kind == "fast":
            self.forward = {chosen}

    def run_fast(self, x):
        return x * 3
{more}
TABLE = {{"layer": Layer}}
"""
HOOKED = """
# file: steer/__init__.py
# file: steer/hooks.py
import torch

def _shift(module, given, result):
    {gives}

class Steering:
    def __init__(self, shift):
        self.shift = shift

    def hook(self, module, given, result):
        result.add_(self.shift)
        {gives}

    def attach(self, layer):
        self.handle = {attach}
"""


def replaced(folder: Path, program: str) -> tuple[str, ...]:
    """What is proposed since others run it in the place of their own."""
    write(folder, program)
    return static.survey([folder], Config(root=folder)).replaced


@pytest.mark.parametrize(
    ("given", "proposed"),
    [
        ({}, ("quant.layers:Layer.run_fast",)),
        ({"chosen": "self.run"}, ("quant.layers:Layer.run",)),
        ({"chosen": "self.other"}, ()),
        ({"chosen": "kind"}, ()),
        ({"base": "object"}, ()),
        ({"more": "    def forward(self, x):\n        return x\n"}, ()),  # a model like any other
        ({"more": "\ndef make():\n    return Layer('fast')\n"}, ()),  # and part of one
        ({"more": "\nclass Other(Layer):\n    pass\n"}, ()),
    ],
)
def test_what_a_model_makes_its_forward_is_run_by_others(
    tmp_path: Path, given: dict[str, str], proposed: tuple[str, ...]
) -> None:
    """Nothing here makes such a model, so others put it in the place of their own."""
    words = {"base": "Base", "chosen": "self.run_fast", "more": "", **given}
    assert replaced(tmp_path, CHOSEN.format(**words)) == proposed


@pytest.mark.parametrize(
    ("attach", "gives", "proposed"),
    [
        ("layer.register_forward_hook(self.hook)", "return result", ("steer.hooks:Steering.hook",)),
        ("layer.register_forward_pre_hook(self.hook)", "return result", ("steer.hooks:Steering.hook",)),
        ("layer.register_forward_hook(_shift)", "return result * 2", ("steer.hooks:_shift",)),
        ("layer.register_forward_hook(self.hook)", "print(result)", ()),  # looks on
        ("layer.register_forward_hook(self.hook)", "return None", ()),
        ("layer.register_full_backward_hook(self.hook)", "return result", ()),
        ("layer.register_forward_hook(self.handle)", "return result", ()),
    ],
)
def test_a_hook_that_gives_something_back_is_part_of_what_is_captured(
    tmp_path: Path, attach: str, gives: str, proposed: tuple[str, ...]
) -> None:
    """It runs wherever the layer does."""
    assert replaced(tmp_path, HOOKED.format(attach=attach, gives=gives)) == proposed
