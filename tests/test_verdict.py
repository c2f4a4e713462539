"""What of a report counts, and how an assertion that fails says so."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from examples import finding, report, write_project

from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Severity, TargetReport
from graphlint.testing.verdict import failure, judge

LOSSY = {"code": "GL401", "rule": "lost-side-effect", "severity": Severity.WARNING}


def test_what_is_not_selected_is_left_out(tmp_path: Path) -> None:
    """By the codes of the configuration."""
    found = report(finding(), finding(line=5, **LOSSY))
    assert ["GL101"] == [one.code for one in judge(found, Config(tmp_path, ignore=("GL4",))).findings]
    assert found == judge(found, Config(tmp_path))
    with pytest.raises(UsageError, match="unknown code `GL9x`"):
        judge(found, Config(tmp_path, select=("GL9x",)))


def test_a_comment_suppresses_and_is_counted(tmp_path: Path) -> None:
    """An unused one is no finding here: the run may not have come to its line."""
    file = tmp_path / "model.py"
    file.write_text("a\nb\nc\nx.item()  # graphlint: ignore[GL101]\ny  # graphlint: ignore[GL102]\n")
    judged = judge(report(finding(str(file)), finding(str(tmp_path / "gone.py"))), Config(tmp_path))
    assert (1, 1) == (len(judged.findings), judged.summary.suppressed)


def test_the_first_line_names_the_worst_finding_and_the_target(tmp_path: Path) -> None:
    """The rest is the report as it always is."""
    found = report(finding(line=3, **LOSSY), finding())
    found = dataclasses.replace(found, targets=(TargetReport("Decoder"),))
    first, empty, *rest = failure(found, Severity.WARNING, write_project(tmp_path)).splitlines()
    assert "GL101 at serve/model.py:4 and 1 other finding: Decoder is not safe to capture" == first
    assert "" == empty and rest[0].startswith("warning[GL401]") and any("error[GL101]" in line for line in rest)


def test_what_is_less_severe_fails_nothing(tmp_path: Path) -> None:
    """The lowest severity that fails is chosen."""
    found = report(finding(**LOSSY))
    assert "" == failure(found, Severity.ERROR, tmp_path) == failure(report(), Severity.NOTE, tmp_path)
    assert failure(found, Severity.WARNING, tmp_path)
