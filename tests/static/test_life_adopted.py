"""Tensors of a caller that are inputs of a graph as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

WRAPPER = """
import torch

class Graphed:
    def __init__(self, model):
        self.model, self.graph = model, None

    def __call__(self, x: torch.Tensor):
        if self.graph is None:
            self.x = {kept}{mark}
            self.model(self.x); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
        {filled}
        self.graph.replay()
        return self.y.clone()
"""
TOLD = "  # expect: GL510"


@pytest.mark.parametrize(
    ("kept", "filled", "mark"),
    [
        ("x", "self.x.copy_(x)", TOLD),
        ("x.clone()", "self.x.copy_(x)", ""),
        ("torch.empty_like(x).copy_(x)", "self.x.copy_(x)", ""),
        ("x", "assert self.x is x", ""),
    ],
    ids=["as it is", "a copy", "a buffer", "never written"],
)
def test_the_tensor_of_the_first_call_is_not_written_over(tmp_path: Path, kept: str, filled: str, mark: str) -> None:
    """It is data of the caller, who may need it, or have it in a list of batches."""
    analysis = analyse(tmp_path, WRAPPER.format(kept=kept, filled=filled, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


EXAMPLE = """
import torch

class Graphed:
    def __init__(self, model, example: torch.Tensor):
        self.x = example
        model(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = model(self.x)

    def __call__(self, x: torch.Tensor):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


def test_who_captures_with_an_example_gives_it_away(tmp_path: Path) -> None:
    """Another call than those that bring data gets it, and nobody is surprised that the graph has it."""
    assert not analyse(tmp_path, EXAMPLE).shown


STARRED = """
import torch

class Graphed:
    def __init__(self, model):
        self.model, self.graph = model, None

    def __call__(self, *args):
        if self.graph is None:
            self.args = {kept}{mark}
            self.model(*self.args); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(*self.args)
        for static, given in zip(self.args, args):
            static.copy_(given)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("kept", "mark"), [("args", TOLD), ("[one.clone() for one in args]", "")])
def test_so_are_those_behind_a_star(tmp_path: Path, kept: str, mark: str) -> None:
    """Wrappers take whatever their model takes."""
    analysis = analyse(tmp_path, STARRED.format(kept=kept, mark=mark))
    assert analysis.expected == analysis.shown


HANDED_ON = """
import torch

class Engine:
    def __init__(self, model):
        self.model, self.is_made = model, False

    def _make(self, *args):
        self.model(*args); torch.cuda.synchronize()
        self.args = {kept}{mark}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(*self.args)
        self.is_made = True

    def _replay(self, *args):
        for number in range(len(args)):
            self.args[number].copy_(args[number])
        self.graph.replay()
        return self.y.clone()

    def forward(self, *args):
        if not self.is_made:
            self._make(*args)
        return self._replay(*args)
"""


@pytest.mark.parametrize(("kept", "mark"), [("args", TOLD), ("tuple(one.clone() for one in args)", "")])
def test_what_is_behind_a_star_is_handed_on(tmp_path: Path, kept: str, mark: str) -> None:
    """One method captures, another replays, and the caller of both has the data."""
    analysis = analyse(tmp_path, HANDED_ON.format(kept=kept, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]
