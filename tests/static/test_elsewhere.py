"""A part of a project is checked with the configuration of the whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from static.analysis import RULEBOOK, write

from graphlint import static
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Report
from graphlint.targets import Target

PROGRAM = """
# file: src/pkg/__init__.py
# file: src/pkg/model.py
def step(x):
    return x.item()
# file: tools/helper.py
def step(x):
    return x.item()
"""


def check(folder: Path, part: str, **told: object) -> Report:
    """What is said of a part; the configuration is that of the folder."""
    write(folder, PROGRAM)
    return static.check([folder / part], replace(Config(folder), **told), RULEBOOK)


@pytest.mark.parametrize(("part", "other"), [("src", "helper:step"), ("tools", "pkg.model:step")])
def test_what_is_declared_elsewhere_in_the_project_is_told_and_left_out(tmp_path: Path, part: str, other: str) -> None:
    """The part that is checked is judged as ever."""
    report = check(tmp_path, part, regions=("pkg.model:step", "helper:step"))
    assert ["GL101"] == [finding.code for finding in report.findings]
    assert [f"declared in files that are not checked, and not looked at: `{other}`"] == [
        n.message for n in report.notices
    ]


@pytest.mark.parametrize(
    "told",
    [
        {"targets": (Target("helper:step", ("pkg.model:step",)),)},
        {"targets": (Target("pkg.model:step", ("help*:step",)),)},
        {"assume": ("helper:LEVEL == 1",)},
        {"assume": ("not helper:LEVEL",)},
    ],
)
def test_so_are_targets_and_assumptions(tmp_path: Path, told: dict[str, object]) -> None:
    """A target whose place lies elsewhere, or all that it runs."""
    report = check(tmp_path, "src", regions=("pkg.model:step",), **told)
    assert ["GL101"] == [f.code for f in report.findings] and 1 == len(report.notices)


def test_all_that_is_checked_needs_no_notice(tmp_path: Path) -> None:
    """Nothing is left out."""
    report = check(tmp_path, ".", regions=("pkg.model:step", "helper:step"))
    assert ["GL101", "GL101"] == [f.code for f in report.findings] and () == report.notices


def test_what_no_file_of_the_project_is_called_is_a_mistake(tmp_path: Path) -> None:
    """Also where another name lies elsewhere."""
    with pytest.raises(UsageError, match="no module `helpr`"):
        check(tmp_path, "src", regions=("helper:step", "helpr:step"))
