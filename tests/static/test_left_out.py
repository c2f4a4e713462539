"""Fields that an object is made without: code that asks for them is looked at in a low voice, and leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import torch
from dataclasses import dataclass
from enum import IntEnum, auto

class Mode(IntEnum):
    EXTEND = auto()
    DECODE = auto()
    def is_padded(self):
        return self == Mode.EXTEND

@dataclass
class Batch:
    mode: Mode
    tokens: torch.Tensor
    counts: list = None

    @classmethod
    def of(cls, request):
        batch = cls(Mode.EXTEND, request.tokens)
        batch.counts = request.counts
        return batch

    def pad(self):
        self.mode = Mode.EXTEND

    def count(self, counts: list):
        self.counts = [len(counts)]
        self.pad()

class Runner:
    def forward(self, batch):
        if {asked}:
            batch.pad()
            batch.tokens.tolist()
        if batch.mode.is_padded():
            return batch.tokens.item()
        return batch.tokens + 1

    def capture(self, tokens: torch.Tensor, counts):
        batch = Batch(Mode.DECODE, tokens{given})
        {then}
        def run_once():
            return self.forward(batch)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run_once()
"""
CONTEXT = """
@dataclass
class Context:
    batch: Batch
"""
ASKED = [
    "batch.counts is not None",
    "not (batch.counts is None)",
    "batch.counts",
    "batch.counts is not None and batch.tokens.dim() > 1",
]


def _confidences(tmp_path: Path, asked: str, given: str = "", then: str = "") -> dict[str, Confidence]:
    text = PROGRAM.format(asked=asked, given=given, then=then)
    findings = analyse(tmp_path, text, confidence=Confidence.LOW).report.findings
    return {"tolist" if "tolist" in one.message else "item": one.confidence for one in findings if one.code == "GL101"}


@pytest.mark.parametrize("asked", ASKED)
def test_what_asks_for_a_field_that_is_left_out_is_told_in_a_low_voice(tmp_path: Path, asked: str) -> None:
    """What it writes is no reason to look at what follows."""
    assert _confidences(tmp_path, asked) == {"tolist": Confidence.LOW}


@pytest.mark.parametrize(("given", "then"), [(", counts", ""), ("", "batch.counts = counts"), (", [1]", "")])
def test_a_field_that_is_given_or_set_on_the_way_is_there(tmp_path: Path, given: str, then: str) -> None:
    """The branch is one as any other, and what it writes is read behind it."""
    found = _confidences(tmp_path, ASKED[0], given, then)
    assert set(found) == {"tolist", "item"}
    assert Confidence.LOW not in found.values()


def test_an_object_that_outlives_its_capture_may_have_had_any_method_called(tmp_path: Path) -> None:
    """`count` fills the field and changes the mode, and nobody sees who calls it before the next capture."""
    found = _confidences(tmp_path, ASKED[0], then="self.batch = batch")
    assert found == {"tolist": Confidence.MEDIUM, "item": Confidence.MEDIUM}


def test_what_a_region_makes_around_an_object_goes_with_the_capture_as_well(tmp_path: Path) -> None:
    """It has the object, and nobody calls it once the capture is over."""
    text = PROGRAM.format(asked="Context(batch) and batch.counts is not None", given="", then="pass") + CONTEXT
    found = analyse(tmp_path, text, confidence=Confidence.LOW).report.findings
    assert {one.confidence for one in found if one.code == "GL101"} == {Confidence.LOW}


def test_an_object_that_an_annotation_promises_may_have_each_of_its_fields(tmp_path: Path) -> None:
    """Nobody knows what it was made with."""
    text = PROGRAM.format(asked=ASKED[0], given="", then="") + PROMISED
    found = analyse(tmp_path, text).report.findings
    assert {one.confidence for one in found if "tolist" in one.message} == {Confidence.MEDIUM}


PROMISED = """
def step(runner: Runner, batch: Batch):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        runner.forward(batch)
"""
