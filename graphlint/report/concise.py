"""A report in, one line for each finding out."""

from __future__ import annotations

from pathlib import Path

from graphlint.finding import Report
from graphlint.report.escaping import escaped
from graphlint.report.place import shown_place
from graphlint.report.text import COLORS, colored, heads, one_line, plain, summary_lines


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """The findings, between what cannot be seen and the line that says what was looked at."""
    paint = colored if color else plain
    lines = [] if quiet else heads(report, paint, base)
    for finding in report.findings:
        place = escaped(shown_place(finding.span.path, finding.span.line, base))
        head = paint(f"{finding.severity}[{finding.code}]", COLORS[finding.severity])
        lines.append(f"{place}:{finding.span.column}: {head} {one_line(finding.message)}")
    lines += [] if quiet else summary_lines(report, paint)
    return "".join(f"{line}\n" for line in lines)
