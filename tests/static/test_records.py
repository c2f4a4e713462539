"""Named tuples, and names that are put together: what a program makes of texts is known where the texts are."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse, in_region

TUPLES = """
import collections
import typing
from collections import namedtuple
Pair = namedtuple("Pair", ["left", "right"])
Table = collections.namedtuple("Table", "rows, steps")
Shape = typing.NamedTuple("Shape", [("height", int), ("width", int)])
class Typed(typing.NamedTuple):
    data: torch.Tensor
    count: int
TABLE = Table(torch.tensor([1.0, 2.0]), steps=[torch.tensor([2.0])])
"""
RECORDS = {
    "a field holds what it was made with": """
        pair = Pair(x, right=3)
        if pair.right > 2:
            return pair.left.item()  # expect: GL101
        return pair.left.tolist()
        """,
    "one at the top of a module keeps where its tensors lie": """
        rows = TABLE.rows.to(x.device)  # expect: GL202
        return rows, [step.to(x.device) for step in TABLE.steps]  # expect: GL202
        """,
    "it is a tuple as well": """
        left, right = Pair(x, host)
        left.item()  # expect: GL101
        right.item()
        Pair(host, x)[1].tolist()  # expect: GL101
        Pair(host, x)[0].tolist()
        data, count = Typed(x, 2)
        if count == 2:
            return data.sum().item()  # expect: GL101
        return data.max().item()
        """,
    "a part of it is a tuple of these": """
        (first,) = Pair(host, x)[:1]
        first.item()
        """,
    "one field is replaced, the others stay": """
        pair = Pair(host, host)._replace(right=x)
        pair.left.item()
        pair.right.item()  # expect: GL101
        return Pair(host, x)._asdict()["right"].item()  # expect: GL101
        """,
    "a class that is derived from one has methods of its own": """
        class Scored(namedtuple("Scored", ("data", "count"))):
            def best(self):
                return self.data.item()  # expect: GL101
        return Scored(x, 1).best()
        """,
    "numbers stay numbers": """
        shape = Shape(2, 3)
        if shape.width > 4:
            x.item()
        for size in shape:
            x = x.view(size, -1)
        """,
}
NAMED = """
class Loss:
    def mean_of(self, x):
        return x.item()  # expect: GL101
    def sum_of(self, x):
        return x.sum().item()
    def go(self, x, kind):
        return getattr(self, {made})(x)
"""


@pytest.mark.parametrize("body", [pytest.param(text, id=name) for name, text in RECORDS.items()])
def test_a_named_tuple_is_a_class_with_fields(tmp_path: Path, body: str) -> None:
    found = analyse(tmp_path, in_region(body, TUPLES))
    assert found.found == found.expected


@pytest.mark.parametrize(
    "made",
    ['"{}_of".format(kind)', '"%s_of" % kind', 'kind + "_of"', 'f"{kind}_of"', '"{}_{}".format(kind, "of")'],
)
def test_a_method_is_found_by_a_name_that_is_put_together(tmp_path: Path, made: str) -> None:
    found = analyse(tmp_path, in_region('return Loss().go(x, "mean")', NAMED.format(made=made)))
    assert found.found == found.expected


def test_each_text_that_a_name_may_be_made_of_is_followed(tmp_path: Path) -> None:
    around = NAMED.format(made='"{}_of".format(kind)')
    found = analyse(tmp_path, in_region('return Loss().go(x, "mean" if number else "sum")', around))
    assert [(finding.code, [one.text for one in finding.when]) for finding in found.report.findings] == [
        ("GL101", ['getattr(self, "{}_of".format(kind)) is Loss.mean_of']),
        ("GL101", ['getattr(self, "{}_of".format(kind)) is Loss.sum_of']),
    ]


def test_a_name_made_of_what_is_not_known_finds_nothing(tmp_path: Path) -> None:
    around = NAMED.format(made='"{}_of".format(kind)')
    assert analyse(tmp_path, in_region("return Loss().go(x, unknown)", around)).found == []


TESTS = """
def exists(value):
    return value is not None
def is_empty(value):
    if not torch.is_tensor(value) and value == 0:
        return True
    return False
"""
ASKED = {
    "what it rules out is gone": """
        scale = x if number else None
        if exists(scale):
            return scale.item()  # expect: GL101
        return scale.tolist()
        """,
    "so is what an early return leaves behind": """
        losses = x if number else 0
        if is_empty(losses):
            return 0
        return losses[losses > 0]  # expect: GL305
        """,
    "a tensor is one": """
        if torch.is_tensor(x):
            return x.item()  # expect: GL101
        return x.tolist()
        """,
    "what is not known may be one": """
        if torch.is_tensor(unknown):
            return unknown.cpu()  # expect: GL201
        return x.item()  # expect: GL101
        """,
}


@pytest.mark.parametrize("body", [pytest.param(text, id=name) for name, text in ASKED.items()])
def test_a_short_function_says_what_its_argument_is(tmp_path: Path, body: str) -> None:
    found = analyse(tmp_path, in_region(body, TESTS))
    assert found.found == found.expected


_MADE = """
import torch
from dataclasses import dataclass, field

class Options:
    def __init__(self):
        self.names = []

    def has(self, name):
        return name in self.names

@dataclass
class Config:
    size: int
    options: Options = field(default_factory=Options)

    def __post_init__(self):
        self.options.names.append("none")

OPTIONS = Options()

def capture(x: torch.Tensor, n):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        config = Config({given})
        y = x + 1 if config.options.has("none") else x
"""


@pytest.mark.parametrize(("given", "found"), [("n", set()), ("n, OPTIONS", {"GL401", "GL402"})])
def test_what_a_field_makes_by_default_is_made_with_its_object(tmp_path: Path, given: str, found: set[str]) -> None:
    """In a region, too: what is done to it is lost with it, and to nobody's harm."""
    assert {one.code for one in analyse(tmp_path, _MADE.format(given=given)).report.findings} == found
