"""Effects with the place where they happened in; findings, once for each place, out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from graphlint.finding import Confidence, Finding, Hop, Region, Severity, Span
from graphlint.rule import Hit
from graphlint.rulebook import Rulebook
from graphlint.runtime.trace.places import Stack, shown

Key = tuple[str, str, int, int]
SURE, UNSURE = Hit(Confidence.HIGH), Hit(Confidence.LOW)
NOWHERE = Span("<unknown>", 1)


class Findings:
    """Collects findings; `told` hears of each one at once, and again when another region reaches it."""

    def __init__(self, rulebook: Rulebook, told: Callable[[Key, Finding], None], home: Span = NOWHERE) -> None:
        """`home` is where the target lies, for what no line of user code did."""
        self.rulebook = rulebook
        self.told = told
        self.home = home
        self.by_key: dict[Key, Finding] = {}
        self.outcomes = {rule.code: rule.outcome for rule in rulebook.rules}

    def add(
        self,
        effect: str,
        stack: Stack,
        regions: Iterable[Region] = (),
        *,
        opening: Stack = (),
        operation: str = "",
        span: Span | None = None,
        said: str = "",
        is_luck: bool = False,
        report: Hit = SURE,
    ) -> None:
        """Report an effect at the innermost line of a stack; `opening` is the stack that opened its region.

        `said` is what the witness saw, and goes behind the reason that the rule gives. What went well by luck is no
        more than a warning. `report` is what a table or a detector says besides the page.
        """
        rule = self.rulebook.for_effect(effect)
        place = next(iter((*stack, *opening)), None)
        span = span or (place.span if place is not None else self.home)
        key = (rule.code, span.path, span.line, span.column)
        severity = min(rule.severity, Severity.WARNING) if is_luck else rule.severity
        known = self.by_key.get(key)
        if known is not None:
            regions = tuple(sorted({*known.regions, *regions}))
            confidence = max(known.confidence, report.confidence)
            again = replace(known, regions=regions, severity=max(known.severity, severity), confidence=confidence)
            if again == known:
                return
            self.by_key[key] = again
        else:
            message = (report.message or rule.message).format(operation=operation or shown(span) or "this")
            self.by_key[key] = replace(
                rule.finding(span, message, place.function if place is not None else "", said),
                severity=severity,
                confidence=report.confidence,
                help=report.help or rule.help,
                regions=tuple(regions),
                chain=_way(stack, opening),
            )
        self.told(key, self.by_key[key])

    @property
    def explain_failure(self) -> bool:
        """Whether a check of the program that fails is no surprise: more is wrong than that time is lost."""
        return any(map(self._is_wrong, self.by_key.values()))

    def explain(self, region: Region) -> bool:
        """Whether it is no surprise that the graph of a region gives something else than eager."""
        return any(region in finding.regions for finding in self.by_key.values() if self._is_wrong(finding))

    def _is_wrong(self, finding: Finding) -> bool:
        return self.outcomes[finding.code] != "slow" and finding.confidence > Confidence.LOW


def _way(stack: Stack, opening: Stack) -> tuple[Hop, ...]:
    """The calls that lead from the body of the region to the line; empty where the line is not below the region."""
    entry = opening[0].code if opening else None
    depth = next((depth for depth, place in enumerate(stack) if place.code is entry), None)
    return tuple(place.hop() for place in reversed(stack[1 : depth + 1])) if depth is not None else ()
