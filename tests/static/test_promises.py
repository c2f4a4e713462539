"""What a program asserts of its captures: what hangs on the opposite is told in a low voice."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

_PROGRAM = """# file: program.py
import torch

def prologue(x, padded):
    if not padded:
        x.sum().item()
    return x + 1

class Step:
    def __init__(self, config):
        self.unpad = config.unpad

    def run(self, x):
        if self.unpad:
            x.max().item()
        return x

def capture(args, config, x: torch.Tensor):
    step = Step(config)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        prologue(x, args.pad_all)
        step.run(x)

# file: main.py
from program import capture

def main(args, config, x):
    {asserted}
    capture(args, config, x)
"""
_LINES = {"pad_all": 5, "unpad": 14}


def _sure(tmp_path: Path, asserted: str) -> set[str]:
    """The flags on which something hangs that is told aloud."""
    report = analyse(tmp_path, _PROGRAM.format(asserted=asserted), confidence=Confidence.MEDIUM).report
    return {flag for flag, line in _LINES.items() if line in {found.span.line for found in report.findings}}


@pytest.mark.parametrize(
    ("asserted", "left"),
    [
        pytest.param("pass", {"pad_all", "unpad"}, id="nothing"),
        pytest.param("assert not (args.use_cuda_graph and args.unpad)", {"pad_all"}, id="not both"),
        pytest.param("assert not args.cuda_graphs or args.pad_all", {"unpad"}, id="one needs the other"),
        pytest.param("if args.unpad:\n        assert not args.use_cuda_graph", {"pad_all"}, id="under a condition"),
        pytest.param(
            "if args.use_cuda_graph and args.unpad:\n        raise ValueError(args)", {"pad_all"}, id="an exception"
        ),
        pytest.param("assert args.use_cuda_graph == False or args.unpad is False", {"pad_all"}, id="compared"),
    ],
)
def test_what_is_asserted_of_captures_is_no_way_of_one(tmp_path: Path, asserted: str, left: set[str]) -> None:
    """By the names of flags, as parameters and attributes have them from a configuration."""
    assert _sure(tmp_path, asserted) == left


@pytest.mark.parametrize(
    "asserted",
    [
        pytest.param("assert not args.unpad", id="of everything"),
        pytest.param("assert not (args.use_cuda_graph and args.other)", id="of another flag"),
        pytest.param("assert not (args.use_cuda_graph and args.unpad and args.other)", id="of three together"),
        pytest.param("assert not args.use_cuda_graph or args.unpad", id="the other way round"),
        pytest.param("if args.other:\n        assert not (args.use_cuda_graph and args.unpad)", id="only sometimes"),
        pytest.param(
            "try:\n        assert not (args.use_cuda_graph and args.unpad)\n    except AssertionError:\n        pass",
            id="caught",
        ),
    ],
)
def test_other_assertions_exclude_nothing(tmp_path: Path, asserted: str) -> None:
    """What does not speak of captures, or leaves open whether there is one."""
    assert "unpad" in _sure(tmp_path, asserted)


REFUSED = """
import torch

class Triton:
    def forward(self, x):
        return x + 1

class Plain:
    def forward(self, x):
        return x * x.max().item()

KINDS = {{"triton": Triton, "fa3": Triton, "plain": Plain{more}}}

class Attention:
    def __init__(self, kind):
        self.kind = kind
        self.backend = KINDS[kind]()

    def forward(self, x):
        return self.backend.forward(x)

class Runner:
    def __init__(self, kind):
        self.attention = Attention(kind)

    def capture(self, x):
        kind = self.attention.kind
{choice}
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.attention.forward(x)

def main(kind):
    Runner(kind).capture(torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("choice", "more", "is_told"),
    [
        ("if kind == 'triton':\n    n = 1\nelif kind in ('fa3',):\n    n = 2\nelse:\n    raise ValueError", "", False),
        ("if kind not in ('triton', 'fa3'):\n    raise ValueError", "", False),
        ("if kind != 'triton':\n    raise ValueError", "", False),
        ("if kind not in ('triton', 'plain'):\n    raise ValueError", "", True),
        ("if kind == 'triton':\n    n = 1\nelif kind in ('fa3',):\n    n = 2\nelse:\n    n = 3", "", True),
        ("if kind == 'triton':\n    n = 1\nelif x == 'fa3':\n    n = 2\nelse:\n    raise ValueError", "", True),
        ("if kind not in ('other', 'fa3'):\n    raise ValueError", "", True),
        ("if kind not in ('triton', 'fa4'):\n    raise ValueError", ", 'fa4': Plain", True),
    ],
)
def test_what_stands_under_a_refused_word_is_not_captured(
    tmp_path: Path, choice: str, more: str, is_told: bool
) -> None:
    """The function that captures names the words for which it does; those of a table of classes are the same."""
    program = REFUSED.format(choice=textwrap.indent(choice, " " * 8), more=more)
    assert [code for *_, code in analyse(tmp_path, program).shown] == ["GL101"] * is_told


_WRITER = """
import torch

class Cache:
    def __init__(self, use_cuda_graph, gathered):
        self.use_cuda_graph = use_cuda_graph
        self.rows = gathered.shape[0]
        self.graph = torch.cuda.CUDAGraph()

    def capture(self, x: torch.Tensor):
        with torch.cuda.graph(self.graph):
            torch.add(x, 1, alpha=self.rows, out=x)

    def update(self, more):
        {asserted}
        self.rows += more

    def run(self, x, more):
        self.graph.replay()
        self.update(more)
        return x
"""


@pytest.mark.parametrize(
    ("asserted", "is_told"),
    [
        ("assert not self.use_cuda_graph, more", False),
        ("if self.use_cuda_graph:\n            raise ValueError(more)", False),
        ("assert not self.use_cuda_graph or more", True),
        ("assert self.use_cuda_graph", True),
        ("assert more > 0", True),
    ],
)
def test_who_asserts_that_graphs_are_off_writes_between_no_replays(
    tmp_path: Path, asserted: str, is_told: bool
) -> None:
    analysis = analyse(tmp_path, _WRITER.format(asserted=asserted))
    assert is_told is ("GL402" in {code for _, _, code in analysis.shown})


UNPACKED = """
from typing import List, Tuple, Union
import torch

def step(x: torch.Tensor, given: {promised}):
    {taken} = given
    for n in lengths:
        x = x[:n] * 2
    return x

def capture(x: torch.Tensor, given):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x, given)
    return graph, y
"""


@pytest.mark.parametrize(
    ("promised", "taken", "is_told"),
    [
        ("Union[torch.Tensor, Tuple[torch.Tensor, int]]", "kept, lengths, most", False),
        ("Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]", "kept, lengths", True),
        ("torch.Tensor", "kept, lengths", True),
    ],
    ids=["a tuple of another length", "a tuple of that length", "a tensor alone"],
)
def test_a_promise_that_does_not_fit_what_is_taken_apart_says_nothing(
    tmp_path: Path, promised: str, taken: str, is_told: bool
) -> None:
    analysis = analyse(tmp_path, UNPACKED.format(promised=promised, taken=taken))
    assert is_told is any(place[2] == "GL304" for place in analysis.shown)
