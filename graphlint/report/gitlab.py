"""A report in, a code quality report of GitLab out, which a merge request shows beside its lines."""

from __future__ import annotations

import json
from pathlib import Path

from graphlint.finding import Finding, Report, Severity
from graphlint.report.fingerprints import fingerprints
from graphlint.report.place import finding_in_file, shown_path

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """One issue a finding."""
    known = zip(report.findings, fingerprints(report, base), strict=True)
    return json.dumps([issue(finding_in_file(one, base), print_, base) for one, print_ in known], indent=2) + "\n"


def issue(finding: Finding, fingerprint: str, base: Path) -> dict[str, object]:
    lines = {"begin": finding.span.line, "end": max(finding.span.line, finding.span.end_line)}
    return {
        "description": f"{finding.code} {finding.rule}: {finding.message}",
        "check_name": finding.code,
        "fingerprint": fingerprint,
        "severity": SEVERITIES[finding.severity],
        "location": {"path": shown_path(finding.span.path, base), "lines": lines},
    }
