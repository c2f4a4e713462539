"""Flags for which whoever captures gives a reason not to: what is made under such a flag is in no graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

class Dense(torch.nn.Module):
    def forward(self, x):
        return x * 2

class Experts(torch.nn.Module):
    def __init__(self, config):
        super().__init__()

    def forward(self, x):
        return x[x > 0]

class Block(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        {made}

    def forward(self, x):
        return x + self.inner(x)

def reason_against(config):
    {alone}

class Step:
    def __init__(self, config):
        self.config, self.block = config, Block(config)
        self.x = torch.zeros(4, device="cuda")

    def why_not(self):
        if not torch.cuda.is_available():
            return "no device"
        {said}
        return None

    def set_up(self):
        {asked}
        self.capture()

    def capture(self):
        self.block(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.block(self.x)
"""
MADE = "self.inner = Experts(config) if config.has_experts else Dense()"
SAID = 'if getattr(self.config, "has_experts", False):\n            return "experts"'
ASKED = "reason = self.why_not()\n        if reason:\n            self.reason = reason\n            return"


def is_told(folder: Path, made: str = MADE, said: str = SAID, asked: str = ASKED, alone: str = "return None") -> bool:
    text = PROGRAM.format(made=made, said=said, asked=asked, alone=alone)
    return "GL305" in {code for _, _, code in analyse(folder, text).shown}


@pytest.mark.parametrize(
    "said", [SAID, 'if self.config.has_experts or self.config.is_compiled:\n            return f"of {self.config}"']
)
@pytest.mark.parametrize(
    "made",
    [
        MADE,
        "if config.has_experts:\n            self.inner = Experts(config)\n"
        "        else:\n            self.inner = Dense()",
    ],
)
def test_what_a_reason_speaks_against_is_not_captured(tmp_path: Path, said: str, made: str) -> None:
    """The function ends before it captures, and its caller goes on eagerly."""
    assert not is_told(tmp_path, made, said)


@pytest.mark.parametrize(
    ("asked", "alone"),
    [
        ("if self.why_not():\n            return", "return None"),
        ("if self.config.has_experts:\n            return", "return None"),
        ("if reason_against(self.config):\n            return", "if config.has_experts:\n        return True"),
    ],
    ids=["at once", "itself", "by a function"],
)
def test_it_may_be_asked_in_several_ways(tmp_path: Path, asked: str, alone: str) -> None:
    assert not is_told(tmp_path, asked=asked, alone=alone)


@pytest.mark.parametrize(
    ("made", "said", "asked"),
    [
        ("self.inner = Experts(config) if config.is_sparse else Dense()", SAID, ASKED),
        (f"{MADE}\n        self.other = Experts(config)", SAID, ASKED),
        (MADE, SAID.replace('return "experts"', "return None"), ASKED),
        (MADE, SAID.replace('return "experts"', "print(self)"), ASKED),
        (MADE, 'if self.config.has_experts and self.config.is_old:\n            return "old"', ASKED),
        (MADE, SAID, "reason = self.why_not()\n        if reason:\n            self.reason = reason"),
        (MADE, SAID, "reason = self.why_not()\n        print(reason)"),
        (MADE, SAID, "if self.config.has_experts:\n            self.capture()\n            return"),
        ("self.inner = Dense() if config.has_experts else Experts(config)", SAID, ASKED),
    ],
    ids=[
        "another flag",
        "made anyway",
        "no reason",
        "a remark",
        "both",
        "goes on",
        "shown",
        "captures",
        "the other branch",
    ],
)
def test_what_no_reason_speaks_against_is_told(tmp_path: Path, made: str, said: str, asked: str) -> None:
    assert is_told(tmp_path, made, said, asked)


@pytest.mark.parametrize(("asked", "is_said"), [("if self.why_not(): return", False), ("self.why_not()", True)])
def test_what_captures_may_ask_itself(tmp_path: Path, asked: str, is_said: bool) -> None:
    text = PROGRAM.format(made=MADE, said=SAID, asked="pass", alone="return None")
    opening = "    def capture(self):\n"
    text = text.replace(opening, f"{opening}        {asked}\n")
    assert is_said is ("GL305" in {code for _, _, code in analyse(tmp_path, text).shown})
