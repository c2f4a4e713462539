"""What a target has told until it ended, and how it ended, become its findings."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphlint.finding import Span
from graphlint.rulebook import builtin_rulebook
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.session.guard import Ending
from graphlint.runtime.session.hearing import Hearing
from graphlint.runtime.session.session import Found

HANGS = Ending("it was not done after 60 seconds", (("step.py", 7, "step"),))


@pytest.mark.parametrize(
    ("effect", "line", "expected"),
    [
        pytest.param("capture-protocol", 7, ["GL606"], id="the line that hangs was told"),
        pytest.param("capture-protocol", 6, ["GL003", "GL606"], id="another line was told"),
        pytest.param("lost-side-effect", 7, ["GL003", "GL401"], id="what was told is a warning"),
        pytest.param("", 7, ["GL003"], id="nothing was told"),
    ],
)
def test_a_hang_at_a_line_that_is_an_error_needs_no_other_finding(
    effect: str, line: int, expected: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A group of ranks that waits for a graph that nobody resets never comes back, and that is what was told."""
    monkeypatch.chdir(tmp_path)
    Path("step.py").write_text("pass\n" * 9, encoding="utf-8")
    rulebook, hearing = builtin_rulebook(), Hearing()
    if effect:
        findings = Findings(rulebook, lambda key, finding: hearing(Found(key, finding)))
        findings.add(effect, (), operation="wait()", span=Span("step.py", line))
    hearing.end(HANGS, "step.py", Span("step.py", 1), rulebook)
    assert expected == sorted(one.code for one in hearing.findings)
