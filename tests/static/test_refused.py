"""What follows from a test that the capture refuses never happens: it is a hint beside the refusal."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

_PROGRAM = """
import torch

class Timer:
    def __init__(self):
        self.event, self.is_over, self.count = torch.cuda.Event(), False, 0

    def is_done(self):
        {answer}

    def step(self, x, asked):
        if {test}:
            self.count += 1
        return x * 2

    def capture(self, asked):
        x = torch.zeros(4, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            y = self.step(x, asked)
        return y, self.count

Timer().capture(input())
"""
_QUERY = "self.is_over = self.is_over or self.event.query()\n        return self.is_over"


@pytest.mark.parametrize(
    ("answer", "test", "is_told"),
    [
        (_QUERY, "self.is_done()", False),
        (_QUERY, "asked and self.is_done()", False),
        (_QUERY, "not (asked and self.is_done())", True),
        ("return self.is_over", "asked", True),
        ("return self.is_over", "self.event.query()", True),
        ("self.event.query()\n        return self.is_over", "asked", True),
    ],
)
def test_a_count_behind_a_test_that_is_refused_is_a_hint(tmp_path: Path, answer: str, test: str, is_told: bool) -> None:
    """The query of the event is told; what the branch would count is, too, only where it can be reached without."""
    codes = {code for _, _, code in analyse(tmp_path, _PROGRAM.format(answer=answer, test=test)).shown}
    assert ("GL401" in codes) is is_told
    assert ("GL103" in codes) is ("(" in test)
