"""Attributes of classes that functions set by the name of the class: switches and numbers that regions ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import torch
from switches import Kernels, set_scale, set_cached

CACHE = {{}}

def step(x):
    if Kernels.CACHED:
        n = int(x.sum().item()){inside}
        CACHE["n"] = n
    return x * Kernels.SCALE{mark}

x = torch.ones(4, device="cuda")
step(x)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(x)
{between}
graph.replay()
print(y)

# file: switches.py
class Kernels:
    CACHED = False
    SCALE = 2.0

class Others:
    CACHED = False
    SCALE = 2.0

def set_scale(value: float):
    {scaled}

def set_cached(value: bool):
    {cached}
"""


def shown(tmp_path: Path, **named: str) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    plain = {"inside": "", "mark": "", "between": "", "scaled": "pass", "cached": "pass"}
    analysis = analyse(tmp_path, PROGRAM.format(**{**plain, **named}))
    return analysis.shown, analysis.expected


def test_a_number_of_a_class_that_a_function_sets_after_the_capture_is_told(tmp_path: Path) -> None:
    """As one of an object, or of a file."""
    found, expected = shown(
        tmp_path, scaled="Kernels.SCALE = value", between="set_scale(3.0)", mark="  # expect: GL402"
    )
    assert found == expected


def test_what_stands_behind_a_switch_of_a_class_is_looked_at(tmp_path: Path) -> None:
    """It is off at first, and somebody may turn it on: a hint, as behind a switch of a file."""
    plain = {"inside": "", "mark": "", "between": "", "scaled": "pass"}
    program = PROGRAM.format(**plain, cached="Kernels.CACHED = value")
    assert ("main.py", 9, "GL101") in analyse(tmp_path, program, confidence=Confidence.LOW).found


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"scaled": "Others.SCALE = value", "cached": "Others.CACHED = value", "between": "set_scale(3.0)"},
        {"scaled": "Kernels.SCALE = value"},
    ],
    ids=["nothing sets it", "that of another class", "nobody calls what sets it"],
)
def test_what_a_class_has_for_good_is_silent(tmp_path: Path, named: dict[str, str]) -> None:
    """It is a constant of the program."""
    assert shown(tmp_path, **named)[0] == []
