"""The report for people: frames, the way, colours, counts."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from examples import finding, report, write_project

from graphlint.finding import Condition, Confidence, Hole, Region, Report, Severity, Span, Summary, TargetReport
from graphlint.report.text import render

EXPECTED = """\
error[GL101] scalar-readback: `scale.item()` reads a device value on the host and waits for it
 --> serve/model.py:4:12
  |
3 |         scale = self.scale
4 |         if scale.item() > 0:
  |            ^^^^^^^^^^^^
5 |             x = x * 2
  |
  = why: a captured stream cannot be waited for
  = region: torch.cuda.graph at serve/run.py:2
  = way: serve/run.py:3 in serve.run:capture
         serve/model.py:4 in serve.model:Decoder.forward
  = help: keep the value on the device

found 1 error: 3 files, 1 region, 17 functions followed, 2 unresolved calls, 0 suppressed, 0.4 s
why, and what to write instead: `graphlint rule GL101`
"""


def frame(folder: Path, source: str, span: Span) -> list[str]:
    """The rows between the place and the notes."""
    (folder / span.path).write_bytes(source.encode("utf-8"))
    text = render(report(finding(span=span)), base=folder)
    rows = [line for line in text.splitlines() if re.match(r" *(\d+|\.\.\.)? *\|", line)]
    return rows[1:-1]


def test_a_finding_is_shown_whole(tmp_path: Path) -> None:
    """Header, place, frame, reason, way, help, summary."""
    assert EXPECTED == render(report(finding()), base=write_project(tmp_path))


def test_conditions_are_told_three_at_most(tmp_path: Path) -> None:
    """Below the way; the rest is counted."""
    when = tuple(Condition(f"flag_{n}", str(tmp_path / "serve" / "model.py"), n) for n in range(1, 6))
    text = render(report(finding(when=when, confidence=Confidence.MEDIUM)), base=write_project(tmp_path))
    assert (
        "  = when: flag_1 (serve/model.py:1)\n"
        "          flag_2 (serve/model.py:2)\n"
        "          flag_3 (serve/model.py:3)\n"
        "          and 2 more conditions\n"
        "  = help:"
    ) in text


def test_what_shares_a_condition_stands_together_behind_what_has_none(tmp_path: Path) -> None:
    """The last line counts both."""
    first, second = Condition("first", "serve/model.py", 1), Condition("second", "serve/model.py", 2)
    wanted = {1: (second,), 2: (first, second), 3: (), 4: (first,)}
    text = render(report(*(finding(line=n, when=when) for n, when in wanted.items())), base=tmp_path)
    assert ["3", "2", "4", "1"] == re.findall(r"--> serve/model\.py:(\d)", text)
    assert "found 4 errors (1 whenever a region runs, 3 under conditions): " in text


def test_colour_only_adds_escapes(tmp_path: Path) -> None:
    """Without its escapes the coloured text is the plain one."""
    write_project(tmp_path)
    colored = render(report(finding()), color=True, base=tmp_path)
    assert "\x1b[1;31merror[GL101]\x1b[0m" in colored
    assert EXPECTED == re.sub(r"\x1b\[[0-9;]*m", "", colored)


def test_a_file_that_is_gone_has_no_frame(tmp_path: Path) -> None:
    """The finding is shown without its lines."""
    text = render(report(finding()), base=tmp_path)
    assert " --> serve/model.py:4:12\n  = why:" in text
    assert "|" not in text


def test_a_line_beyond_the_end_has_no_frame(tmp_path: Path) -> None:
    """A file that shrank since is not an error."""
    write_project(tmp_path)
    assert " --> serve/model.py:400:12\n" + " " * 2 + "= why" in render(report(finding(line=400)), base=tmp_path)


def test_every_line_of_a_span_is_marked(tmp_path: Path) -> None:
    """Carets begin at the first character of each line and end where the span ends."""
    source = "y = torch.where(\n    mask,\n\n    x,\n) + 1\n"
    assert [
        "1 | y = torch.where(",
        "  |     ^^^^^^^^^^^^",
        "2 |     mask,",
        "  |     ^^^^^",
        "3 |",
        "4 |     x,",
        "  |     ^^",
        "5 | ) + 1",
        "  | ^",
    ] == frame(tmp_path, source, Span("a.py", 1, 5, 5, 2))


def test_the_middle_of_a_long_span_is_left_out(tmp_path: Path) -> None:
    """Three lines at each end are enough, and line numbers are aligned."""
    source = "".join(f"line{number}\n" for number in range(1, 21))
    rows = frame(tmp_path, source, Span("a.py", 2, 1, 19, 7))
    assert ["  1", "  2", "  3", "  4", "...", " 17", " 18", " 19", " 20"] == [
        row[:3] for row in rows if row[:3].strip()
    ]


@pytest.mark.parametrize(
    ("line", "column", "end_column", "expected"),
    [
        pytest.param("\tx.item()\n", 2, 10, ["1 |     x.item()", "  |     ^^^^^^^^"], id="tab"),
        pytest.param("a\tx.item()\n", 3, 11, ["1 | a   x.item()", "  |     ^^^^^^^^"], id="tab inside"),
        pytest.param("'模型', x.item()\n", 7, 15, ["1 | '模型', x.item()", "  |         ^^^^^^^^"], id="wide"),
        pytest.param("e\u0301, x.item()\n", 5, 13, ["1 | e\u0301, x.item()", "  |    ^^^^^^^^"], id="accent"),
        pytest.param("'\x1b[31m', x\n", 10, 11, ["1 | '�[31m', x", "  |          ^"], id="escape"),
        pytest.param("x\r\ny\r\n", 1, 2, ["1 | x", "  | ^", "2 | y"], id="carriage return"),
        pytest.param("x.item()", 1, 9, ["1 | x.item()", "  | ^^^^^^^^"], id="no newline"),
        pytest.param("x\n", 50, 60, ["1 | x", "  |  ^"], id="column beyond the end"),
        pytest.param("x\n", 1, 1, ["1 | x", "  | ^"], id="empty span"),
    ],
)
def test_carets_stand_under_the_span(
    tmp_path: Path, line: str, column: int, end_column: int, expected: list[str]
) -> None:
    """Columns count characters; the terminal's columns may differ."""
    assert expected == frame(tmp_path, line, Span("a.py", 1, column, 1, end_column))


@pytest.mark.parametrize("start", [0, 60, 200, 480])
def test_a_long_line_is_cut_around_the_span(tmp_path: Path, start: int) -> None:
    """The frame stays narrow and the carets stay under the operation."""
    line = "a" * start + "x.item()" + "b" * (500 - start)
    source, carets = frame(tmp_path, line, Span("a.py", 1, start + 1, 1, start + 9))
    assert len(source) <= 130
    assert "x.item()" == source[carets.index("^") : carets.rindex("^") + 1]


def test_bytes_that_do_not_decode_are_shown_as_such(tmp_path: Path) -> None:
    """A file of another encoding is read as it declares, a broken one as far as possible."""
    (tmp_path / "a.py").write_bytes(b"# -*- coding: latin-1 -*-\ns = '\xe9'\n")
    (tmp_path / "b.py").write_bytes(b"s = '\xe9'\n")
    (tmp_path / "c.py").write_bytes(b"# coding: nonsense\ns = 1\n")
    spans = [Span("a.py", 2, 1, 2, 8), Span("b.py", 1, 1, 1, 8), Span("c.py", 2, 1, 2, 6)]
    text = render(report(*(finding(span=span) for span in spans)), base=tmp_path)
    assert "2 | s = 'é'" in text
    assert "1 | s = '�'" in text
    assert "2 | s = 1" in text


def test_an_operation_over_several_lines_is_told_on_one(tmp_path: Path) -> None:
    """The message holds source text, which may hold newlines and escapes."""
    text = render(report(finding(message="`f(\n    x,\x1b[0m\n)` waits")), base=tmp_path)
    assert "scalar-readback: `f( x,�[0m )` waits\n" in text


def test_other_regions_are_counted_and_three_are_named(tmp_path: Path) -> None:
    """A helper may be reached from everywhere."""
    regions = tuple(Region("torch.cuda.graph", f"serve/{name}.py", 7) for name in "abcdef")
    text = render(report(finding(regions=regions)), base=tmp_path)
    expected = "  = also: 5 other regions reach this line: torch.cuda.graph at serve/b.py:7, "
    expected += "torch.cuda.graph at serve/c.py:7, torch.cuda.graph at serve/d.py:7, 2 more\n"
    assert expected in text
    assert "1 other region reaches this line" in render(report(finding(regions=regions[:2])), base=tmp_path)


def test_a_declared_region_is_named_by_its_entry(tmp_path: Path) -> None:
    """The kind alone would not say which one; a soft region says that it falls back."""
    declared = Region("declared", "serve/model.py", 2, "serve.model:Decoder.forward")
    soft = Region("torch.compile", "serve/run.py", 9, soft=True)
    text = render(report(finding(regions=(declared,), chain=()), finding(regions=(soft,))), base=tmp_path)
    assert "= region: declared serve.model:Decoder.forward at serve/model.py:2\n  = help" in text
    assert "= region: torch.compile at serve/run.py:9, which falls back to eager" in text


def test_doubt_is_told(tmp_path: Path) -> None:
    """High confidence is not worth a word."""
    text = render(report(finding(confidence=Confidence.MEDIUM)), base=tmp_path)
    assert "--> serve/model.py:4:12 (medium confidence)\n" in text


def test_the_summary_counts_by_severity(tmp_path: Path) -> None:
    """Errors come first."""
    findings = [finding(severity=severity) for severity in (Severity.NOTE, Severity.ERROR, Severity.ERROR)]
    last = render(report(*findings, files=1, suppressed=2, unresolved_calls=1), base=tmp_path).splitlines()[-2]
    expected = "found 2 errors, 1 note: 1 file, 1 region, 17 functions followed, 1 unresolved call, 2 suppressed, 0.4 s"
    assert expected == last


def hole(line: int, **changes: Any) -> Hole:
    region = Region("torch.cuda.graph", "serve/run.py", 3)
    return Hole(Span("serve/run.py", line, 9, line, 19), "self.model", "serve.run:capture", region, **changes)


def test_what_was_not_looked_at_stands_first(tmp_path: Path) -> None:
    """Each call with its place, its region and what would fit; then what to do. It is not nothing that was found."""
    holes = (hole(4, fitting=12), hole(5, fitting=1), hole(6), hole(7, fitting=40, followed=30, left_out=10))
    lines = render(dataclasses.replace(report(), holes=holes), base=tmp_path).splitlines()
    said = "in torch.cuda.graph at serve/run.py:3: nobody knows what it runs, and none of that was looked at"
    assert [
        f"not looked at: `self.model(...)` at serve/run.py:4, {said}; 12 classes here fit",
        f"not looked at: `self.model(...)` at serve/run.py:5, {said}; 1 class here fits",
        f"not looked at: `self.model(...)` at serve/run.py:6, {said}; no class here fits",
        "looked at in part: `self.model(...)` at serve/run.py:7, in torch.cuda.graph at serve/run.py:3: "
        "30 of 40 functions that it may run",
        "say what they run in `[[tool.graphlint.targets]]`; `graphlint init` proposes classes that fit",
    ] == lines[:5]
    assert lines[-1].startswith("nothing found, and 3 calls not looked into: 3 files")


def test_five_calls_are_named_and_the_others_counted(tmp_path: Path) -> None:
    """Those that were looked at in part come last."""
    holes = (hole(1, fitting=2, followed=1, left_out=1), *(hole(line) for line in range(2, 8)))
    lines = render(dataclasses.replace(report(), holes=holes), base=tmp_path).splitlines()
    assert ["2", "3", "4", "5", "6"] == [line.partition("run.py:")[2].partition(",")[0] for line in lines[:5]]
    assert "and 2 more calls like these; `--format json` lists them all" == lines[5]


def test_without_such_calls_nothing_is_said_of_them(tmp_path: Path) -> None:
    """The report begins with what was found."""
    assert "looked" not in render(report(), base=tmp_path)


def test_targets_of_verify_are_measured_in_the_last_lines() -> None:
    """Nodes, times and whether the graph pays; a target that could not be looked at is told elsewhere."""
    times = {"eager_seconds": 0.002, "replay_seconds": 0.0005, "pool_bytes": 2**21, "kernel_nodes": 3.0}
    slow = {"eager_seconds": 0.001, "replay_seconds": 0.002}
    targets = (TargetReport("a.py:step", times), TargetReport("b.py:step", slow), TargetReport("c.py"))
    broken = TargetReport("d.py", problem="target `d.py`: there is no such file")
    verified = Report("capture", (), Summary(regions=2, seconds=1.5), targets=(*targets, broken))
    assert render(verified, base=Path()).splitlines() == [
        "nothing found: 4 targets, 2 captures, 0 suppressed, 1.5 s",
        "a.py:step: nodes: 3 kernel, eager 2.000 ms, replay with its copies 0.500 ms, 4.0 times as fast, "
        "2.0 MiB in its pool",
        "b.py:step: eager 1.000 ms, replay with its copies 2.000 ms, the graph does not pay",
        "c.py: no graph to measure",
    ]


def test_what_a_witness_cannot_see_stands_first_and_once() -> None:
    """Two targets ran on the same machine."""
    targets = (TargetReport("a.py:step", unseen="not seen: this"), TargetReport("b.py:step", unseen="not seen: this"))
    shown = render(Report("capture", (), Summary(), targets=targets), base=Path())
    assert shown.startswith("not seen: this\n\nnothing found") and shown.count("not seen") == 1
