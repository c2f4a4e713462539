"""A report in, workflow commands that annotate a pull request out."""

from __future__ import annotations

from pathlib import Path

from graphlint.finding import Finding, Report, Severity
from graphlint.report.escaping import seen
from graphlint.report.place import finding_in_file, shown_path, told_below

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = {**DATA, ":": "%3A", ",": "%2C"}


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """One annotation a finding."""
    return "".join(f"{annotation(finding_in_file(finding, base), base)}\n" for finding in report.findings)


def annotation(finding: Finding, base: Path) -> str:
    properties = {
        "file": shown_path(finding.span.path, base),
        "line": finding.span.line,
        "endLine": max(finding.span.line, finding.span.end_line),
        "title": f"{finding.code} {finding.rule}",
    }
    listed = ",".join(f"{name}={escape(str(value), PROPERTY)}" for name, value in properties.items())
    body = "\n".join((finding.message, *told_below(finding, base)))
    return f"::{COMMANDS[finding.severity]} {listed}::{escape(body, DATA)}"


def escape(text: str, characters: dict[str, str]) -> str:
    return "".join(characters.get(character, character) for character in seen(text, kept="\r\n"))
