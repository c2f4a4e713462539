"""What was found in a target and what was measured in, its verdict in a word or two out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from graphlint.finding import Confidence, Finding, Severity, TargetReport
from graphlint.rulebook import Rulebook

SAFE, REFUSED, DIFFERS, UNDECIDED = "safe", "refused", "differs", "cannot tell"
FAILURE = "target-failure"
NOTHING = "no CUDA graph was captured, so nothing was judged; run the capture, or name what is to be captured"


def judged(report: TargetReport, findings: Iterable[Finding], rulebook: Rulebook) -> TargetReport:
    """The report with a verdict; that nothing was captured is a problem where nothing was found either."""
    known = list(findings)
    found = [one for one in known if one.severity > Severity.NOTE and one.confidence > Confidence.LOW]
    if not (known or report.problem or report.measured.get("captures")):
        report = replace(report, problem=f"target `{report.name}`: {NOTHING}")
    return replace(report, verdict=_verdict(report, found, rulebook))


def _verdict(report: TargetReport, found: Iterable[Finding], rulebook: Rulebook) -> str:
    if report.problem or any(one.rule == FAILURE for one in found):
        return UNDECIDED
    outcomes = {rule.code: rule.outcome for rule in rulebook.rules}
    consequences = {outcomes[one.code] for one in found} - {"slow"}
    if "capture-error" in consequences:
        return REFUSED
    return DIFFERS if consequences else SAFE
