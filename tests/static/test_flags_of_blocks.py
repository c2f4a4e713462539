"""Flags that only context managers set: what asks for one outside of its block is told in a low voice."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import contextlib
import torch

class Tuner:
    def __init__(self):
        self.depth = 0
        self.is_tuning = False
        self.is_strict = False
        self.is_quick = self.is_tuned = False

    def be_quick(self):
        self.is_quick = True

    @contextlib.contextmanager
    def strict(self):
        self.is_strict = True
        yield
        self.is_strict = False

@contextlib.contextmanager
def tuning(tuner: Tuner, tunes=True):
    tuner.depth += 1
    tuner.is_tuning = tuner.depth > 0
    try:
        yield
    finally:
        tuner.depth -= 1
        tuner.is_tuning = tuner.depth > 0

@contextlib.contextmanager
def deeply(tuner: Tuner):
    with tuning(tuner):
        yield

class Tuned:
    def __init__(self, tuner: Tuner):
        self.tuner = tuner

    def __enter__(self):
        self.tuner.is_tuned = True

    def __exit__(self, *error):
        self.tuner.is_tuned = False

def step(x, tuner: Tuner):
    if {asked}:
        x.tolist()
    return x + 1

class Shared(Tuner):
    one = None

    @classmethod
    def get(cls):
        if cls.one is None:
            cls.one = Shared()
        return cls.one

def run(x, tuner, graph):
    with graph:
        step(x, tuner)

def main(x: torch.Tensor, tuner: Tuner):
    with tuning(tuner):
        step(x, tuner)
    {main}
"""
GRAPH = "torch.cuda.graph(torch.cuda.CUDAGraph())"
STEP = "step(x, tuner)"


def _sure(tmp_path: Path, asked: str, main: str) -> Confidence:
    text = PROGRAM.format(asked=asked, main=main)
    found = analyse(tmp_path, text, confidence=Confidence.LOW).report.findings
    return max((one.confidence for one in found if one.code == "GL101"), default=Confidence.LOW)


@pytest.mark.parametrize("step", [STEP, "step(x, Shared.get())"])
@pytest.mark.parametrize("asked", ["tuner.is_tuning", "tuner.is_strict", "not (not tuner.is_tuning)"])
def test_a_flag_is_as_it_is_made_where_no_block_sets_it(tmp_path: Path, asked: str, step: str) -> None:
    """A block that is over sets nothing; the one object of its class is one as well."""
    assert _sure(tmp_path, asked, f"with {GRAPH}: {step}") is Confidence.LOW


@pytest.mark.parametrize(
    ("asked", "main"),
    [
        ("not tuner.is_strict", f"with {GRAPH}: {STEP}"),
        ("tuner.is_quick", f"with {GRAPH}: {STEP}"),
        ("tuner.is_tuning", f"with tuning(tuner), {GRAPH}: {STEP}"),
        ("tuner.is_tuning", f"with deeply(tuner), {GRAPH}: {STEP}"),
        ("tuner.is_strict", f"with tuner.strict(), {GRAPH}: {STEP}"),
        ("tuner.is_tuning", f"with tuning(tuner): run(x, tuner, {GRAPH})"),
        ("tuner.is_tuned", f"with Tuned(tuner), {GRAPH}: {STEP}"),
    ],
)
def test_a_flag_that_is_set_around_the_region_is_set(tmp_path: Path, asked: str, main: str) -> None:
    """By a block of its manager, or one inside another; or by a method that anybody may call."""
    assert _sure(tmp_path, asked, main) > Confidence.LOW


SHARED = """
import contextlib
import torch

_is_quiet = False

class Serving:
    is_on: bool = False

    @classmethod
    def asked(cls):
        return cls.is_on

    @classmethod
    def switch_on(cls):
        cls.is_on = True

    @staticmethod
    def switch_off():
        Serving.is_on = False

    @classmethod
    @contextlib.contextmanager
    def serving(cls):
        {sets}
        try:
            yield
        finally:
            cls.switch_off()

def be_quiet(answer: bool):
    global _is_quiet
    _is_quiet = answer

@contextlib.contextmanager
def quiet():
    global _is_quiet
    before, _is_quiet = _is_quiet, True
    _is_quiet = True
    yield
    _is_quiet = before

@contextlib.contextmanager
def serving_quietly():
    with quiet(), Serving.serving():
        yield

def step(x):
    if not Serving.asked():
        x.tolist()
    if not _is_quiet:
        x.tolist()

def main(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with {around}torch.cuda.graph(graph):
        step(x)
"""


@pytest.mark.parametrize(
    ("around", "lines"),
    [
        ("", [50, 52]),
        ("Serving.serving(), ", [52]),
        ("quiet(), ", [50]),
        ("quiet(), Serving.serving(), ", []),
        ("serving_quietly(), ", []),
    ],
)
@pytest.mark.parametrize("sets", ["cls.switch_on()", "cls.is_on = True", "Serving.switch_on()"])
def test_what_a_block_sets_for_all_is_known_in_it(tmp_path: Path, around: str, lines: list[int], sets: str) -> None:
    """A flag of a class, or of a module: what asks for it in a region inside of the block knows it."""
    found = analyse(tmp_path, SHARED.format(around=around, sets=sets))
    assert [line for _, line, code in found.shown if code == "GL101"] == lines


@pytest.mark.parametrize("sets", ["pass", "cls.is_on = bool(cls)", "cls.switch_off()"])
def test_what_a_block_does_not_set_is_asked(tmp_path: Path, sets: str) -> None:
    """Nor is it known where what it is set to is not, and what is set to false is false."""
    found = analyse(tmp_path, SHARED.format(around="quiet(), Serving.serving(), ", sets=sets))
    assert [line for _, line, code in found.shown if code == "GL101"] == [50]
