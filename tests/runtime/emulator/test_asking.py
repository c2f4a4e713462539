"""A callable that asks whether a capture is under way: told where the two ways differ, however it asks."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphlint import runtime
from graphlint.config import Config
from graphlint.rulebook import builtin_rules, load_rulebook

LINES = """\
import torch
from torch.cuda import is_current_stream_capturing


def helper():
    return torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()


def step(x):
    kept = x.topk(2).values[:, -1:]
    if ASKS:
        kept = OTHERWISE
    return x.masked_fill(x < kept, 0.0)


def target():
    return step, (torch.rand(4, 8, device="cuda"),)
"""
RULEBOOK = load_rulebook(builtin_rules())
ASKS = ["torch.cuda.is_current_stream_capturing()", "is_current_stream_capturing()", "helper()"]
SAME, OTHER = "x.sort(descending=True).values[:, 1:2]", "x.amin(-1, keepdim=True)"


@pytest.mark.parametrize("asks", ASKS)
def test_a_way_that_capture_alone_takes_is_told_where_it_gives_something_else(tmp_path: Path, asks: str) -> None:
    """The finding stands on the branch; where both ways give the same there is none."""
    found = {}
    for name, way in (("same", SAME), ("other", OTHER)):
        file = tmp_path / f"{name}.py"
        file.write_text(LINES.replace("ASKS", asks).replace("OTHERWISE", way))
        report = runtime.verify([f"{file}:target"], Config(root=tmp_path), RULEBOOK, on="emulator")
        found[name] = [(one.code, one.span.line) for one in report.findings]
    assert {"same": [], "other": [("GL405", 11)]} == found


PROGRAM = """\
import torch


def step(x):
    if torch.cuda.is_current_stream_capturing():
        return x * 2
    return x.clamp(max=2.0) * 2


if __name__ == "__main__":
    x, graph = torch.full((4,), 3.0, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x)
    REPLAYS
    CHECKS
"""


@pytest.mark.parametrize(
    ("replays", "checks", "expected"),
    [
        ("graph.replay()", "torch.testing.assert_close(y, step(x))", ["GL405 5"]),
        ("graph.replay()", "torch.testing.assert_close(y, x * 2)", ["GL405 5"]),
        ("x.fill_(1.0); graph.replay()", "torch.testing.assert_close(y, x * 2)", []),
        ("x.fill_(1.0); graph.replay()", "raise ValueError", ["GL003 15"]),
        ("assert len(x) == 5", "graph.replay()", ["GL003 14"]),
    ],
)
def test_a_program_is_told_where_its_own_check_fails(
    tmp_path: Path, replays: str, checks: str, expected: list[str]
) -> None:
    """On the branch, whatever the check is; what fails before a replay, or is no check, has another reason."""
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.replace("REPLAYS", replays).replace("CHECKS", checks))
    report = runtime.verify([str(file)], Config(root=tmp_path), RULEBOOK, on="emulator")
    assert expected == [f"{one.code} {one.span.line}" for one in report.findings]


LEAVING_OUT = """\
import torch

x, bias, graph = torch.ones(4, device="cuda"), torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + bias
x.fill_(2.0)
bias.fill_(1.0)
graph.replay()
x.fill_(3.0)
graph.replay()
torch.testing.assert_close(y, torch.full_like(y, EXPECTED))
"""


@pytest.mark.parametrize(("value", "expected"), [("4.0", []), ("3.0", ["GL511 7"])])
def test_an_input_that_stays_is_told_where_the_program_did_not_mean_it(
    tmp_path: Path, value: str, expected: list[str]
) -> None:
    """It may be a mask that holds for all requests; the program's own check says whether it is."""
    file = tmp_path / "program.py"
    file.write_text(LEAVING_OUT.replace("EXPECTED", value))
    report = runtime.verify([str(file)], Config(root=tmp_path), RULEBOOK, on="emulator")
    assert expected == [f"{one.code} {one.span.line}" for one in report.findings]
