"""Objects that are made in front of a region: what they are given there last is what the region reads of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import contextlib
import dataclasses
import torch

@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    ready: bool = False
    again: bool = False

    def mark(self, again: bool = False):
        self.ready = True
        self.again = again

    def mark_if_long(self):
        if self.tokens.dim() > 1:
            return
        self.ready = True

    def needs_plan(self):
        if not self.ready:
            return True
        return self.again and self.tokens.shape[0] != 4

@contextlib.contextmanager
def marked(batch):
    batch.mark()
    yield
    batch.ready = False

class Runner:
    def load(self, batch: Batch) -> Batch:
        {load}

    def forward(self, batch):
        batch = self.load(batch)
        if batch.needs_plan():
            batch.tokens.cpu()
        return batch.tokens + 1

    def prepare(self, batch):
        {prepare}

    def capture(self, tokens: torch.Tensor, sizes):
        batch = Batch(tokens)
        def run_once():
            return self.forward(batch)
        {then}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run_once()
"""
LOADS = [
    "return batch",
    "return dataclasses.replace(batch, tokens=batch.tokens[:2])",
    "return dataclasses.replace(batch, **{name: batch.tokens[:2] for name in self.slots})",
]


def _codes(tmp_path: Path, then: str, prepare: str = "batch.mark()", load: str = LOADS[0]) -> list[str]:
    text = PROGRAM.replace("{load}", load).replace("{prepare}", prepare).replace("{then}", then)
    return sorted({one.code for one in analyse(tmp_path, text).report.findings})


@pytest.mark.parametrize("load", LOADS)
@pytest.mark.parametrize("then", ["batch.mark()", "batch.ready = True; batch.again = False", "self.prepare(batch)"])
def test_what_is_marked_in_front_of_the_region_is_marked_in_it(tmp_path: Path, then: str, load: str) -> None:
    """A copy of it, too, whatever else the copy is given."""
    assert _codes(tmp_path, then, load=load) == []


@pytest.mark.parametrize(
    "then",
    [
        "pass",
        "batch.mark(again=True)",
        "if tokens.dim() > 1: batch.mark()",
        "for size in sizes: batch.mark()",
        "batch.mark_if_long()",
        "tokens.dim() > 1 and batch.mark()",
        "batch.mark() if tokens.dim() > 1 else None",
        "match sizes:\n            case [4]: batch.mark()",
        "try: tokens.sum()\n        except ValueError: batch.mark()",
        "with marked(batch): pass",
        "batch.mark(); batch.ready = False",
        "batch.mark(); batch = Batch(tokens)",
        "other = Batch(tokens + 1); other.mark()",
    ],
)
def test_what_may_not_be_marked_is_looked_at(tmp_path: Path, then: str) -> None:
    """By a branch, a loop or a function that may be left early, undone again, or another object."""
    assert _codes(tmp_path, then) == ["GL201"]


def test_a_copy_with_another_mark_has_that(tmp_path: Path) -> None:
    """What a copy is given by name it holds."""
    load = "return dataclasses.replace(batch, ready=False)"
    assert _codes(tmp_path, "batch.mark()", load=load) == ["GL201"]


@pytest.mark.parametrize(("prepare", "found"), [("batch.mark()", []), ("pass", ["GL201"])])
def test_who_hands_the_object_on_marks_it_for_those_behind(tmp_path: Path, prepare: str, found: list[str]) -> None:
    """A helper does it as well."""
    assert _codes(tmp_path, "self.prepare(batch)", prepare) == found
