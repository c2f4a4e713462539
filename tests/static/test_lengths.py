"""How many elements a region finds in state of the host, and numbers that it hands to calls that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

SEARCH = """
import torch

class Beams:
    def __init__(self):
        self.finished = [0]
        self.names = dict(a=1)
        self.scores = torch.zeros(4, 16, device="cuda")

    def score(self):
        {read}

class Search:
    def __init__(self):
        self.beams = Beams()
        self.beams.score(); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.beams.score()

    def step(self, scores, done):
        self.beams.scores.copy_(scores)
        {written}
        self.graph.replay()
        return self.y.clone()

search = Search()
for number in range(4):
    search.step(torch.randn(4, 16, device="cuda"), number % 2)
"""
TWICE = "return self.scores * 2"
LENGTH = "return self.scores / (1 + len(self.finished))"


@pytest.mark.parametrize(
    ("read", "written", "is_told"),
    [
        (LENGTH, "self.beams.finished.append(done)", True),
        (LENGTH, "self.beams.finished.clear()", True),
        ("return self.scores[: len(self.finished)] * 2", "self.beams.finished.append(done)", True),
        ("return self.scores / len(self.names)", "self.beams.names.update({done: 1})", True),
        (LENGTH, "self.beams.finished[0] = done", False),
        (LENGTH, "pass", False),
        ("return self.scores / 2", "self.beams.finished.append(done)", False),
        (
            f"while len(self.finished) > 9:\n            break\n        {TWICE}",
            "self.beams.finished.append(done)",
            False,
        ),
    ],
    ids=[
        "grown",
        "cleared",
        "of a slice",
        "of a table",
        "an item is another one",
        "not written",
        "not asked for",
        "of a loop",
    ],
)
def test_the_length_of_what_grows_behind_a_capture_is_frozen(
    tmp_path: Path, read: str, written: str, is_told: bool
) -> None:
    """An item that is replaced changes no length, and what is worked off in a loop may be empty each time."""
    analysis = analyse(tmp_path, SEARCH.format(read=read, written=written))
    assert [code for *_, code in analysis.shown] == ["GL402"] * is_told


HANDED = """
import torch

class Decoder:
    def __init__(self, attend):
        self.attend = attend
        self.q = torch.zeros(1, 8, device="cuda")
        self.length = 1
        {prepared}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = {called}

    def decode(self, q):
        self.q.copy_(q)
        self.graph.replay()
        self.length += 1
        return self.y.clone()

decoder = Decoder({given})
for _ in range(4):
    decoder.decode(torch.randn(1, 8, device="cuda"))
"""


@pytest.mark.parametrize(
    ("called", "expected"),
    [("self.attend(self.q, self.length)", Confidence.MEDIUM), ("self.q * self.length", Confidence.HIGH)],
    ids=["handed to what nobody knows", "an operand"],
)
def test_what_an_unknown_call_does_with_a_number_is_not_sure(tmp_path: Path, called: str, expected: Confidence) -> None:
    """It may be there for others that take the same arguments."""
    program = HANDED.format(prepared="torch.cuda.synchronize()", called=called, given="load()")
    report = analyse(tmp_path, program).report
    assert [one.confidence for one in report.findings if one.code == "GL402"] == [expected]
