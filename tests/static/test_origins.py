"""Conditions that exclude each other under different names: what hangs on both is told in a low voice."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

MADE = """
import torch

class Base:
    def __init__(self, config):
        self.config = config
        self.ranks = config.parallel.size
        self.set_later = config.parallel.size
        self.counts = torch.full((2,), 4) if self.ranks > 1 else None

    def change(self, size):
        self.set_later = size

    @property
    def size(self):
        return self.config.parallel.size

class Manager(Base):
    def capture(self, x: torch.Tensor, parallel, size):
        {made}
        def run():
            {call}
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            run()

def forward(x, config, counts=None):
    if counts is None and config.parallel.size > 1:
        x.sum().item()
    return x + 1
"""
CALL = "forward(x, self.config, counts)"
FULL = "torch.full((2,), 4)"

CONTEXT = """
import torch

_context = None

class Context:
    def __init__(self, slices, is_split):
        self.slices = slices
        self.is_split = is_split

def set_context(slices=None, other=None, is_split=False):
    global _context
    _context = Context(slices, is_split)

def forward(x):
    if {asked}:
        x.sum().item()
    return x + 1

def capture(x: torch.Tensor, flag, split):
    slices = [1, 2] if flag else None
    set_context({given})
    if {region}:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            forward(x)
"""


def _confidence(tmp_path: Path, text: str) -> Confidence:
    found = analyse(tmp_path, text, confidence=Confidence.LOW).report.findings
    (one,) = (one for one in found if one.code == "GL101")
    return one.confidence


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (f"counts = {FULL} if self.ranks > 1 else None", CALL),
        (f"counts = {FULL} if self.size > 1 else None", CALL),
        (f"counts = None if self.ranks <= 1 else {FULL}", CALL),
        (f"counts = {FULL} if x.dim() > 2 or self.ranks > 1 else None", CALL),
        (
            f"counts = {FULL} if self.config.parallel.size > 1 else None",
            "forward(x, config=self.config, counts=counts)",
        ),
        (f"counts = None\n        if self.ranks > 1:\n            counts = {FULL}", CALL),
        ("pass", "forward(x, self.config, self.counts)"),
    ],
)
def test_what_is_handed_in_is_there_where_its_own_condition_holds(tmp_path: Path, made: str, call: str) -> None:
    """By position or by name; the condition is that of an attribute set once, or of a property."""
    assert _confidence(tmp_path, MADE.format(made=made, call=call)) is Confidence.LOW


@pytest.mark.parametrize(
    ("made", "call"),
    [
        (f"counts = {FULL} if self.ranks < 2 else None", CALL),
        (f"counts = {FULL} if self.set_later > 1 else None", CALL),
        (f"counts = {FULL} if x.dim() > 2 and self.ranks > 1 else None", CALL),
        (f"counts = {FULL} if self.ranks > 2 else None", CALL),
        (f"counts = {FULL} if size > 1 else None", CALL),
        (f"counts = None\n        if self.ranks > 1:\n            counts = {FULL}\n        counts = None", CALL),
        (f"counts = {FULL} if self.ranks > 1 else None", "forward(x, self.config)"),
    ],
)
def test_another_condition_excludes_nothing(tmp_path: Path, made: str, call: str) -> None:
    """An opposite, an attribute that is set twice, half of a condition, another number, another thing of that name."""
    assert _confidence(tmp_path, MADE.format(made=made, call=call)) > Confidence.LOW


@pytest.mark.parametrize(
    ("asked", "region", "given"),
    [
        ("_context.slices is not None", "slices is None", "slices=slices"),
        ("_context.is_split", "not split", "is_split=split"),
    ],
)
def test_what_was_handed_on_is_read_as_the_region_knows_it(tmp_path: Path, asked: str, region: str, given: str) -> None:
    """A context object that was filled in front of the region holds what the region's own condition speaks of."""
    assert _confidence(tmp_path, CONTEXT.format(asked=asked, region=region, given=given)) is Confidence.LOW


@pytest.mark.parametrize(
    ("asked", "region", "given"),
    [
        ("_context.slices is not None", "slices is not None", "slices=slices"),
        ("_context.slices is not None", "slices is None", "other=slices"),
        ("_context.slices is not None", "split", "slices=slices"),
        ("_context.is_split", "split", "is_split=split"),
    ],
)
def test_what_the_region_does_not_know_may_be(tmp_path: Path, asked: str, region: str, given: str) -> None:
    """What is asked alike, handed on under another name, or no part of the region's condition."""
    assert _confidence(tmp_path, CONTEXT.format(asked=asked, region=region, given=given)) > Confidence.LOW


AGAIN = """
import torch

def forward(x, ranks, embeds):
    if ranks:
        embeds = None
    elif embeds is None:
        x.sum().item()
        embeds = make(x)
    return embeds

def make(x):
    return x + 1

def capture(x: torch.Tensor, ranks, embeds):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        forward(x, ranks, embeds)
"""


def test_a_name_that_is_given_a_value_where_it_has_none_asks_for_itself_once(tmp_path: Path) -> None:
    """Its test is about what it stood for before, and leads to nothing else."""
    (found,) = analyse(tmp_path, AGAIN).report.findings
    assert ["not ranks", "embeds is None"] == [condition.text for condition in found.when]


LONGEST = """
import torch

_context = None

class Context:
    def __init__(self, longest):
        self.longest = longest

def set_context(longest=0):
    global _context
    _context = Context(longest)

def forward(x):
    if {asked}:
        x.sum().item()
    return x + 1

def capture(x: torch.Tensor, size):
    steps = 2 * max(1, int(size))
    set_context({given})
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        forward(x)
"""


@pytest.mark.parametrize("asked", ["not (_context.longest > 0)", "_context.longest <= 0", "_context.longest == 0"])
@pytest.mark.parametrize("given", ["longest=steps", "longest=max(size, 4)", "longest=min(steps, 8) + 1"])
def test_what_is_one_at_least_is_not_asked_for_less(tmp_path: Path, asked: str, given: str) -> None:
    assert _confidence(tmp_path, LONGEST.format(asked=asked, given=given)) is Confidence.LOW


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("_context.longest > 0", "longest=steps"),
        ("_context.longest < 2", "longest=steps"),
        ("_context.longest <= 0", "longest=size"),
        ("_context.longest <= 0", "longest=max(size, 0)"),
        ("_context.longest <= 0", "longest=min(size, 4)"),
        ("_context.longest <= 0", "longest=steps - 1"),
        ("_context.longest <= 0", "steps"),
    ],
)
def test_what_may_be_less_is(tmp_path: Path, asked: str, given: str) -> None:
    assert _confidence(tmp_path, LONGEST.format(asked=asked, given=given)) > Confidence.LOW
