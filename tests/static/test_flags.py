"""Flags that nobody sets: what they guard is told in a low voice, until somebody in the program sets one."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import torch

def finish(y, wait):
    if {test}:
        y.sum().item()
    return y

def run(y, *, wait: bool = {default}):
    return finish(y * 2, wait)

class Layer(torch.nn.Module):
    def forward(self, y, wait: bool = {default}):
        return finish(y * 2, wait)

{others}
"""
UNSET = {
    "nobody": "",
    "its default is written down": "def use(y):\n    return run(y, wait=False)",
    "a wrapper hands on its own": "def use(y, wait=False):\n    return run(y, wait=wait)\n\ndef go(y):\n    use(y)",
}
SET = {
    "a call": "def use(y):\n    return run(y, wait=True)",
    "a call hands on what it is given": "def use(y, first):\n    return run(y, wait=first)",
    "a wrapper whose own flag is set": (
        "def use(y, wait=False):\n    return run(y, wait=wait)\n\ndef go(y):\n    use(y, True)"
    ),
    "a script": "if __name__ == '__main__':\n    run(torch.ones(3), wait=True)",
    "a partial": "import functools\n\nwaiting = functools.partial(run, wait=True)",
    "a table": "OPTIONS = {'wait': True}\n\ndef use(y):\n    return run(y, **OPTIONS)",
    "a star": "def use(y, options):\n    return run(y, **options)",
}


def _confidences(tmp_path: Path, region: str, test: str = "wait", default: bool = False, others: str = "") -> set[str]:
    text = PROGRAM.format(test=test, default=default, others=others)
    report = analyse(tmp_path, text, regions=(f"main:{region}",), confidence=Confidence.LOW).report
    return {finding.confidence.name for finding in report.findings if finding.code == "GL101"}


@pytest.mark.parametrize("region", ["run", "Layer.forward"])
@pytest.mark.parametrize(("test", "default"), [("wait", False), ("not wait", True), ("wait and y.dim() > 1", False)])
def test_what_stands_behind_a_flag_that_nobody_sets_is_told_in_a_low_voice(
    tmp_path: Path, region: str, test: str, default: bool
) -> None:
    assert _confidences(tmp_path, region, test, default) == {"LOW"}


@pytest.mark.parametrize("others", UNSET.values(), ids=UNSET)
def test_a_flag_is_not_set_by_who_leaves_it_as_it_is(tmp_path: Path, others: str) -> None:
    assert _confidences(tmp_path, "run", others=others) == {"LOW"}


@pytest.mark.parametrize("others", SET.values(), ids=SET)
def test_a_flag_is_set_by(tmp_path: Path, others: str) -> None:
    assert _confidences(tmp_path, "run", others=others) == {"MEDIUM"}


def test_a_flag_of_an_object_that_is_called_is_set_by_its_name(tmp_path: Path) -> None:
    others = "def use(y):\n    return Layer()(y, wait=True)"
    assert _confidences(tmp_path, "Layer.forward", others=others) == {"MEDIUM"}


@pytest.mark.parametrize(("test", "default"), [("not wait", False), ("wait", True)])
def test_what_a_flag_allows_by_default_is_told_as_before(tmp_path: Path, test: str, default: bool) -> None:
    assert _confidences(tmp_path, "run", test, default) == {"MEDIUM"}
