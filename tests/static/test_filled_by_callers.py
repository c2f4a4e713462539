"""What a caller has filled in is not missing behind what it did that for."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import torch

class Attention(torch.nn.Module):
    def forward(self, x, lengths, longest, layout):
        if layout in ("first", "second"):
            longest = x.shape[0]
        elif layout == "packed":
            if longest is None:
                longest = lengths.max().item()
        return x[:longest]

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = Attention()

    def forward(self, x, lengths, layout: str, longest=None):
        {filled}
        return self.attention(x, lengths, longest, layout=layout)
"""
FILLED = {
    "for the same layout": """
        if layout == "packed":
            if longest is None:
                longest = round_up(lengths)
""",
    "under another name": """
        kind = layout_of(layout)
        if kind == "packed":
            assert lengths is not None
            if longest is None:
                if self.training:
                    longest = 8
                else:
                    longest = round_up(lengths)
""",
    "together with another": """
        if layout == "packed":
            if longest is None or lengths is None:
                longest, lengths = round_up(lengths)
""",
}
MISSING = {
    "for another layout": """
        if layout == "first":
            if longest is None:
                longest = round_up(lengths)
""",
    "in training": """
        if self.training:
            if longest is None:
                longest = round_up(lengths)
""",
    "in one of two branches": """
        if layout == "packed":
            if longest is None:
                if self.training:
                    longest = round_up(lengths)
""",
    "with nothing": """
        if layout == "packed":
            if longest is None:
                longest = None
""",
    "for others alone": """
        if layout == "packed":
            return self.attention(x, lengths, longest, layout=layout)
        elif longest is None:
            longest = round_up(lengths)
""",
    "by nobody": "",
}


def _confidences(tmp_path: Path, filled: str) -> set[str]:
    text = PROGRAM.format(filled=filled.strip())
    report = analyse(tmp_path, text, regions=("main:Layer.forward",), confidence=Confidence.LOW).report
    return {finding.confidence.name for finding in report.findings if finding.code == "GL101"}


@pytest.mark.parametrize("filled", FILLED.values(), ids=FILLED)
def test_what_a_caller_has_filled_in_is_missing_in_a_low_voice(tmp_path: Path, filled: str) -> None:
    assert _confidences(tmp_path, filled) <= {"LOW"}


@pytest.mark.parametrize("filled", MISSING.values(), ids=MISSING)
def test_what_is_filled_in_otherwise_may_be_missing(tmp_path: Path, filled: str) -> None:
    assert _confidences(tmp_path, filled) == {"MEDIUM"}
