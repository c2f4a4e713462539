"""A container that is empty when its object is made, and filled since, is no reason to leave out a branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = {start}
        self.others = []

    def push(self, loss):
        {fill}

    @property
    def latest(self):
        return self.kept[-1]

    @latest.setter
    def latest(self, loss):
        {set}

    def forward(self, x: torch.Tensor):
        {before}
        if {test}:
            x = x * x.max().item()
        return x
"""
_PUSH = "self.kept.append(loss)"


@pytest.mark.parametrize(
    ("start", "fill", "set_", "test", "is_told"),
    [
        ("[]", _PUSH, "pass", "self.kept", True),
        ("[]", _PUSH, "pass", "self.kept and x.shape[0] > 1", True),
        ("[]", "pass", _PUSH, "self.kept", True),
        ("[]", "self.kept.setdefault(loss)", "pass", "self.kept", True),
        ("set()", "self.kept.add(loss)", "pass", "self.kept", True),
        ("[]", "pass", "pass", "self.kept", False),
        ("[]", "self.others.append(loss)", "pass", "self.kept", False),
        ("()", _PUSH, "pass", "self.kept", False),
        ("[]", _PUSH, "pass", "not self.others and False", False),
    ],
)
def test_what_is_empty_at_first_may_be_filled_by_another_method(
    tmp_path: Path, start: str, fill: str, set_: str, test: str, is_told: bool
) -> None:
    text = _PROGRAM.format(start=start, fill=fill, set=set_, before="pass", test=test)
    found = analyse(tmp_path, text, regions=["main:Model.forward"]).shown
    assert is_told is any(code == "GL101" for _, _, code in found)


def test_what_a_region_makes_empty_is_empty(tmp_path: Path) -> None:
    """Nobody has filled it since."""
    text = _PROGRAM.format(start="[]", fill=_PUSH, set="pass", before="self.kept = []", test="self.kept")
    assert not any(code == "GL101" for _, _, code in analyse(tmp_path, text, regions=["main:Model.forward"]).shown)
