"""What a capture refused and what `check` reports on the same code in, where the two differ out, line by line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graphlint.finding import Finding, Severity
from graphlint.rulebook import builtin_rulebook

from .observed import Observed


@dataclass(frozen=True, slots=True)
class Compared:
    """One target. A line counts by where an error stands, whatever its code.

    `refused` are errors that stop the capture, and `missed` those of them where `check` reports nothing. The others are
    errors of `check`: `false` on lines that ran and were not refused, `unreached` on lines that did not run,
    `unjudged` on lines that ran in a capture of which nobody knows how it goes on. Where there is a `problem`, nothing
    is compared.
    """

    target: str
    problem: str = ""
    ran: int = 0
    refused: tuple[Finding, ...] = ()
    missed: tuple[Finding, ...] = ()
    false: tuple[Finding, ...] = ()
    unreached: tuple[Finding, ...] = ()
    unjudged: tuple[Finding, ...] = ()


def compare(target: str, observed: Observed, reported: Iterable[Finding]) -> Compared:
    """Lay what was reported beside what was observed."""
    outcomes = {rule.code: rule.outcome for rule in builtin_rulebook().rules}
    refusals = [one for one in observed.errors if outcomes[one.code] == "capture-error"]
    refused = tuple({(one.span.path, one.span.line): one for one in reversed(refusals)}.values())[::-1]
    reported = tuple(reported)
    errors = [one for one in reported if one.severity is Severity.ERROR and not meets(one, observed.errors)]
    on_ran = tuple(one for one in errors if observed.ran.any_of(one.span.path, lines(one)))
    return Compared(
        target,
        observed.problem,
        observed.ran.count,
        refused,
        tuple(one for one in refused if not meets(one, reported)),
        on_ran if observed.is_whole else (),
        tuple(one for one in errors if one not in on_ran),
        () if observed.is_whole else on_ran,
    )


def meets(finding: Finding, others: Iterable[Finding]) -> bool:
    """Whether one of the others stands on one of its lines."""
    mine = lines(finding)
    return any(
        one.span.path == finding.span.path and lines(one).start < mine.stop and mine.start < lines(one).stop
        for one in others
    )


def lines(finding: Finding) -> range:
    """The lines on which it stands."""
    return range(finding.span.line, max(finding.span.line, finding.span.end_line) + 1)
