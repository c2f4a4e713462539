"""What a region calls that nobody names: the few classes that the code speaks for are run, on that condition."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import Analysis, analyse, write
from static.test_captured_targets import AT, RUNNER

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence
from graphlint.static.regions import targets
from graphlint.targets import Target

NAMES = ["Third", "Fourth", "Fifth", "Sixth", "Seventh"]
OTHER = """
# file: serve/models/{number}.py
from torch import nn
from serve.layers import Norm

class {number}ForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, ids, scale=None):
        return ids.tolist()
"""


def told(analysis: Analysis) -> list[tuple[int, int, int]]:
    """How many classes fit each hole, how many were looked at, and how many not."""
    return [(hole.fitting, hole.followed, hole.left_out) for hole in analysis.report.holes]


def test_the_few_models_that_a_region_may_run_are_looked_at(tmp_path: Path) -> None:
    """Each finding says of which it is, and is no more than likely; nobody has named one, so the call is still told."""
    analysis = analyse(tmp_path, RUNNER)
    assert analysis.expected == analysis.found and 2 == len(analysis.found)
    assert {Confidence.MEDIUM} == {one.confidence for one in analysis.report.findings}
    said = [condition.text for one in analysis.report.findings for condition in one.when]
    assert {f"self.model is {one}ForCausalLM.forward" for one in ("First", "Second")} == set(said)
    assert [(2, 2, 0)] == told(analysis) and 1 == analysis.report.summary.unresolved_calls


@pytest.mark.parametrize("more", [targets.FEW - 2, targets.FEW - 1])
def test_more_models_than_a_few_are_none_in_particular(tmp_path: Path, more: int) -> None:
    """As many as a few are run; of one more, nobody knows any."""
    program = RUNNER + "".join(OTHER.format(number=number) for number in NAMES[:more])
    analysis = analyse(tmp_path, program)
    assert bool(analysis.found) == (more + 2 <= targets.FEW)
    assert bool(analysis.report.holes[0].followed) == bool(analysis.found)


def test_what_is_declared_takes_the_place_of_what_is_likely(tmp_path: Path) -> None:
    """Who names targets has named all that he means: other calls run nothing."""
    region = "with torch.cuda.graph(graph):"
    second = RUNNER.replace(region, f"{region}\n            self.head.forward(ids, scale=1)")
    named = Target(AT, ("serve.models.second:*.forward",), "self.model")
    assert [("serve/layers.py", 5, "GL101")] == analyse(tmp_path, second, targets=(named,)).found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("serve/runner.py", "tests/test_runner.py"),  # tests capture what they have made
        ("self.model(ids, scale=host)", "self.step(ids, scale=host)"),  # a function is handed in, and may be any
        ("self.model(ids, scale=host)", "self.encoder(ids, scale=host)"),  # none is called so
        ("self.model(ids, scale=host)", "self.first(ids, scale=host)"),  # one is, but that may be chance
        ("self.model(ids, scale=host)", "self.model(ids, scale=host, other=1)"),  # none takes that
    ],
)
def test_what_nothing_speaks_for_is_not_run(tmp_path: Path, old: str, new: str) -> None:
    """The call is a hole as before, and nothing is said of the models."""
    assert [] == analyse(tmp_path, RUNNER.replace(old, new)).found


def test_what_a_declared_function_calls_is_not_guessed(tmp_path: Path) -> None:
    """Its caller hands in what it likes; only the region of an engine has one that it means."""
    program = RUNNER.replace("with torch.cuda.graph(graph):", "if graph:")
    analysis = analyse(tmp_path, program, regions=("serve.runner:Runner.capture",))
    assert [] == analysis.found and [(2, 0, 0)] == told(analysis)


ALONE = """
import torch
from torch import nn

class Runner:
    def __init__(self, model):
        self.model = model

    def capture(self, x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.model(x, {given})

class Head(nn.Module):
    def forward(self, x, scale):
        return x.item()

class Tail(nn.Module):
    def forward(self, x, {second}):
        return x.item()
"""


@pytest.mark.parametrize(
    ("given", "second", "runs"),
    [("scale=1", "shift", [("main:Head.forward",)]), ("scale=1", "scale", []), ("shape=1", "shift", [])],
)
def test_the_only_class_that_takes_a_call_is_proposed(
    tmp_path: Path, given: str, second: str, runs: list[tuple[str, ...]]
) -> None:
    """Of two that are built of nothing, neither is; who runs it anyway would run what the program never hands in."""
    folder = write(tmp_path, ALONE.format(given=given, second=second))
    assert runs == [target.runs for target in static.survey([folder], Config(root=folder)).targets]
    assert [] == analyse(tmp_path, ALONE.format(given=given, second=second)).found
