"""Constants of a module that are off, and what would be captured if they were on."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import RULEBOOK

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence

PROGRAM = """\
import torch
{constant}

def capture(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * x.sum().item()
    return graph, y

def run(x: torch.Tensor):
    {test}
        return capture(x)
    return x
"""
COMPILED = """\
import torch
{constant}

def step(x):
    return x * 2

{test}
    compiled = torch.compile(step, mode="reduce-overhead", dynamic=True)
else:
    compiled = step
"""
OFF = [
    ("GRAPHS = False", "if GRAPHS:", True),
    ("GRAPHS = False", "if GRAPHS and x.shape[0] <= 4:", True),
    ("EAGER = True", "if not EAGER:", True),
    ("GRAPHS = True", "if GRAPHS:", False),
    ("GRAPHS = False", "if GRAPHS or x.shape[0] <= 4:", False),
    ("GRAPHS = False\ndef enable():\n    global GRAPHS\n    GRAPHS = True", "if GRAPHS:", False),
    ('import os\nGRAPHS = bool(os.environ.get("GRAPHS"))', "if GRAPHS:", False),
]


def confidences(folder: Path, text: str, **others: str) -> set[Confidence]:
    for name, content in {"program": text, **others}.items():
        (folder / f"{name}.py").write_text(content, encoding="utf-8")
    report = static.check([folder], Config(folder, confidence=Confidence.LOW, select=("GL101", "GL505")), RULEBOOK)
    return {finding.confidence for finding in report.findings}


@pytest.mark.parametrize(("constant", "test", "is_off"), OFF)
def test_what_is_captured_where_a_constant_is_on_that_is_off_is_told_in_a_low_voice(
    tmp_path: Path, constant: str, test: str, is_off: bool
) -> None:
    told = confidences(tmp_path, PROGRAM.format(constant=constant, test=test))
    assert told == {Confidence.LOW if is_off else Confidence.MEDIUM}


@pytest.mark.parametrize(("constant", "test", "is_off"), [one for one in OFF if "shape" not in one[1]])
def test_so_is_what_is_compiled_there(tmp_path: Path, constant: str, test: str, is_off: bool) -> None:
    told = confidences(tmp_path, COMPILED.format(constant=constant, test=test))
    assert told == {Confidence.LOW if is_off else Confidence.MEDIUM}


@pytest.mark.parametrize(
    "other", ["import program\nprogram.GRAPHS = True\n", 'import program\nsetattr(program, "GRAPHS", True)\n']
)
def test_another_file_may_turn_it_on(tmp_path: Path, other: str) -> None:
    text = PROGRAM.format(constant='GRAPHS = False\n__all__ = ["GRAPHS"]', test="if GRAPHS:")
    assert confidences(tmp_path, text) == {Confidence.LOW}
    assert confidences(tmp_path, text, main=other) == {Confidence.MEDIUM}


def test_what_is_called_elsewhere_as_well_is_captured(tmp_path: Path) -> None:
    text = PROGRAM.format(constant="GRAPHS = False", test="if GRAPHS:")
    assert confidences(tmp_path, text, main="from program import capture\ncapture(1)\n") == {Confidence.MEDIUM}
