"""Findings in, less sure of those that no replay ever shows out: a call in a test on their way is what is refused.

`if timer.is_done(): self.done += 1` comes to nothing where `is_done` queries an event. A test of a value of the device
is another thing: whoever writes that anew has to write anew what depends on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from graphlint.finding import Condition, Confidence, Finding
from graphlint.rulebook import Rulebook

_Line = tuple[str, int]
_REFUSED = "capture-error"


def doubt_what_is_never_replayed(findings: Iterable[Finding], rulebook: Rulebook) -> list[Finding]:
    """The same findings, those of replays in a low voice where a capture does not get behind a test on their way."""
    refusing = {rule.code for rule in rulebook.rules if rule.outcome == _REFUSED}
    found = list(findings)
    refusals: dict[_Line, list[Finding]] = {}
    for one in found:
        if one.code in refusing and one.confidence > Confidence.LOW:
            for line in {(hop.path, hop.line) for hop in one.chain}:
                refusals.setdefault(line, []).append(one)
    return [
        replace(one, confidence=Confidence.LOW) if one.code not in refusing and _is_refused(one, refusals) else one
        for one in found
    ]


def _is_refused(finding: Finding, refusals: Mapping[_Line, list[Finding]]) -> bool:
    return any(
        _is_asked(one, condition, finding)
        for condition in finding.when
        if condition.opposite  # which a test has, and no choice of what is called
        for one in refusals.get((condition.path, condition.line), ())
    )


def _is_asked(refusal: Finding, condition: Condition, finding: Finding) -> bool:
    """Whether a refusal comes from a call in a test on the way to a finding, and from no other part of its line."""
    hard = {region for region in refusal.regions if not region.soft}
    here = {one for one in refusal.when if (one.path, one.line) == (condition.path, condition.line)}
    return hard.issuperset(finding.regions) and here.issubset(finding.when)
