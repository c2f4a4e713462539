"""Findings in, the protocol's `Diagnostic` of each out, by document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from graphlint.finding import Finding, Severity, Span

SOURCE = "graphlint"
_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
Units = Callable[[str, types.Range], types.Range]  # a range of characters in that of the editor's units


def uri_of(path: str | Path) -> str:
    """How an editor names a file."""
    return from_fs_path(str(path)) or Path(path).as_uri()


def diagnostics(findings: Iterable[Finding], units: Units) -> Mapping[str, list[types.Diagnostic]]:
    """What is shown in each document, by its name."""
    shown: dict[str, list[types.Diagnostic]] = defaultdict(list)
    for finding in findings:
        uri = uri_of(finding.span.path)
        shown[uri].append(
            types.Diagnostic(
                range=units(uri, range_of(finding.span)),
                message=message(finding),
                severity=_SEVERITY[finding.severity],
                code=finding.code,
                source=SOURCE,
                related_information=[*_related(finding, units)],
                data={"rule": finding.rule, "line": finding.span.line},
            )
        )
    return shown


def message(finding: Finding) -> str:
    """What is wrong, when, why, and what to do: in a few lines."""
    lines = [f"{finding.rule}: {finding.message}"]
    lines += [f"when: {condition.text}" for condition in finding.when]
    lines += [f"why: {finding.why}"] if finding.why else []
    lines += [f"help: {finding.help}"] if finding.help else []
    return "\n".join(lines)


def range_of(span: Span) -> types.Range:
    """A span in lines and characters from 0; one without an end goes to the end of its line."""
    start = types.Position(span.line - 1, span.column - 1)
    last, column = max(span.end_line, span.line) - 1, span.end_column - 1 if span.end_line else 1 << 16
    return types.Range(start, types.Position(last, column))


def _related(finding: Finding, units: Units) -> Iterable[types.DiagnosticRelatedInformation]:
    """The region that reaches it, and the way from there."""
    places = [(one.path, one.line, f"{one.kind} opens the region") for one in finding.regions[:1]]
    places += [(hop.path, hop.line, f"on the way: {hop.function}") for hop in finding.chain]
    for path, line, text in places:
        uri = uri_of(path)
        span = range_of(Span(path, line))
        yield types.DiagnosticRelatedInformation(types.Location(uri, units(uri, span)), text)
