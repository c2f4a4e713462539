"""The comparison of the halves: what it says of a capture and of what `check` reports on the same lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from halves.comparison import Compared, compare
from halves.observed import Observed, Ran
from halves.table import record, table

from graphlint.finding import Condition, Confidence, Finding, Severity, Span

CHECKOUT = Path(__file__).resolve().parent.parent
TARGETS = """\
import torch


def normalized():
    def step(x):
        peak = x.abs().max().item()
        return x / peak

    return step, (torch.ones(4, device="cuda"),)


class Doubling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.printed = bool(torch.ones(0).numel())

    def forward(self, x):
        if self.printed:
            print(x.sum().item())
        return x * 2


def doubled():
    return Doubling(), (torch.ones(4, device="cuda"),)


def _inputs():
    return torch.ones(4, device="cuda")
"""


def finding(line: int, code: str = "GL101", end_line: int = 0, severity: Severity = Severity.ERROR) -> Finding:
    """One in a file named `m.py`."""
    span = Span("m.py", line, end_line=end_line)
    return Finding(code, "", severity, Confidence.HIGH, span, "m:f", "said", "")


def lines_of(compared: Compared, *kinds: str) -> list[list[int]]:
    return [[one.span.line for one in getattr(compared, kind)] for kind in kinds]


def compared(refused: list[Finding], reported: list[Finding], *, is_whole: bool = True) -> Compared:
    """What differs where lines 1 to 9 ran."""
    observed = Observed(tuple(refused), Ran({"m.py": frozenset(range(1, 10))}), is_whole)
    return compare("m.py:f", observed, reported)


def test_a_refused_line_is_reported_or_missed() -> None:
    """Whatever the code, and on any line of a finding that stands on several."""
    refused = [finding(1), finding(2), finding(4, end_line=6)]
    found = compared(refused, [finding(1, "GL301"), finding(6)])
    assert [[1, 2, 4], [2], [], []] == lines_of(found, "refused", "missed", "false", "unreached")


def test_an_error_stands_on_a_line_that_ran_or_not() -> None:
    """One on a line that ran unrefused is false; a warning is neither."""
    reported = [finding(1), finding(3), finding(8, end_line=12), finding(20), finding(5, severity=Severity.WARNING)]
    assert [[3, 8], [20]] == lines_of(compared([finding(1)], reported), "false", "unreached")


def test_an_error_of_replay_is_no_refusal_and_no_alarm() -> None:
    """What `verify` says of a line is not false where `check` says something of it as well."""
    found = compared([finding(3, "GL402")], [finding(3)])
    assert [[], [], []] == lines_of(found, "refused", "missed", "false")


def test_a_line_that_is_refused_twice_counts_once() -> None:
    """As the first that is said of it."""
    found = compared([finding(1, "GL304"), finding(1), finding(2)], [])
    assert [("GL304", 1), ("GL101", 2)] == [(one.code, one.span.line) for one in found.missed]


def test_behind_the_end_of_a_capture_nothing_is_judged() -> None:
    """Who knows how it would have gone on."""
    found = compared([finding(1)], [finding(3), finding(20)], is_whole=False)
    assert [[], [20], [3]] == lines_of(found, "false", "unreached", "unjudged")


def test_the_table_counts_by_rule_and_confidence() -> None:
    """Shares of refused lines; errors with their confidence, and without a condition."""
    one = compared([finding(1), finding(2)], [finding(1), finding(3), finding(20)])
    text = table([one, Compared("m.py:g", problem="it hangs")], [Path("/")])
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("GL101")}
    assert ["1", "0", "1", "0", "1", "0", "0", "0"] == rows["GL101"]
    assert "GL101                        2         1     50.0%" in text
    assert "m.py:g: it hangs" in text and "missed    high   m.py:f: m.py:2 GL101 said" in text


def test_both_halves_look_at_each_target_of_a_file(tmp_path: Path) -> None:
    """One is refused where `check` says; the other captures, and the line that did not run has its condition."""
    pytest.importorskip("torch")
    file, rows = tmp_path / "compared_targets.py", tmp_path / "rows.json"
    file.write_text(TARGETS, encoding="utf-8")
    command = [sys.executable, "-m", "tests.halves", str(file), "--json", str(rows)]
    path = os.pathsep.join([str(tmp_path), str(CHECKOUT)])
    done = subprocess.run(
        command,
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 0 == done.returncode, done.stderr
    normalized, doubled = json.loads(rows.read_text("utf-8"))
    assert "GL101                        1         1    100.0%" in done.stdout
    assert ("compared_targets.py", 6) == (normalized["refused"][0]["path"], normalized["refused"][0]["line"])
    assert {"target": f"{file}:normalized", "ran": 2} == {
        key: normalized[key] for key in normalized if key != "refused"
    }
    (unreached,) = doubled.pop("unreached")
    assert (19, "medium", ["self.printed"]) == (unreached["line"], unreached["confidence"], unreached["when"])
    assert {"target": f"{file}:doubled", "ran": 2} == doubled


def test_a_record_has_the_conditions_of_a_finding() -> None:
    """In the words of the source."""
    conditional = replace(finding(20), when=(Condition("printed", "m.py", 12),))
    one = Compared("m.py:f", unreached=(conditional,))
    assert ["printed"] == record(one, [])["unreached"][0]["when"]
