"""Regions and what they reach in, findings out: one for each rule and place, with every region and the shortest way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphlint.finding import Confidence, Finding, Hole, Hop, Region, Severity, Span
from graphlint.rulebook import Rulebook
from graphlint.rulebook.page import Rule
from graphlint.static.domain.contexts import Occurrence, OpenRegion, reachable


@dataclass
class _Placed:
    """An event with the regions that reach it, and the shortest way, which leads from the nearest of them."""

    occurrence: Occurrence
    function: str
    chain: tuple[Hop, ...]
    nearest: Region
    regions: set[Region] = field(default_factory=set)


@dataclass
class Reached:
    """What regions reach: plain data, which may come from another process."""

    regions: set[Region] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    unresolved: dict[Span, str] = field(default_factory=dict)
    holes: dict[Span, Hole] = field(default_factory=dict)
    followed: set[Span] = field(default_factory=set)  # holes that targets have filled, at least in part
    places: dict[tuple[str, Span], _Placed] = field(default_factory=dict)

    def add(self, opened: OpenRegion) -> None:
        """Add what one region reaches."""
        self.regions.add(opened.region)
        for context, way in reachable(opened.context):
            self.functions.add(context.function)
            self.paths.add(context.path)
            self.unresolved.update((span, callee.text) for span, callee in context.unresolved.items())
            chain = tuple(site.hop for site in way) if context.occurrences else ()
            for occurrence in context.occurrences.values():
                self._add(occurrence, opened.region, context.function, chain)

    def merge(self, other: Reached) -> None:
        """Add what other regions reach."""
        self.regions |= other.regions
        self.functions |= other.functions
        self.paths |= other.paths
        # What one process could not follow, another one may have.
        self.followed |= other.followed
        unresolved, holes = self.unresolved | other.unresolved, self.holes | other.holes
        self.unresolved = {span: text for span, text in unresolved.items() if span not in self.followed}
        self.holes = {span: hole for span, hole in holes.items() if hole.followed or span not in self.followed}
        for key, place in other.places.items():
            self._add(place.occurrence, place.nearest, place.function, place.chain)
            self.places[key].regions |= place.regions

    def _add(self, occurrence: Occurrence, region: Region, function: str, chain: tuple[Hop, ...]) -> None:
        key = (occurrence.effect, occurrence.span)
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = _Placed(occurrence, function, chain, region)
        if occurrence.confidence > place.occurrence.confidence:
            place.occurrence = occurrence
        if (len(chain), region) < (len(place.chain), place.nearest):
            place.chain, place.nearest = chain, region
        place.regions.add(region)


def gather(regions: Iterable[OpenRegion]) -> Reached:
    """What all of these regions reach."""
    reached = Reached()
    for opened in regions:
        reached.add(opened)
    return reached


def collect_findings(reached: Reached, rulebook: Rulebook) -> list[Finding]:
    """The findings in order of place. Raises LookupError for an effect without a rule."""
    placed = [(place, rulebook.for_effect(place.occurrence.effect)) for place in reached.places.values()]
    findings = [_finding(place, rule) for place, rule in placed if "check" in rule.witness]
    return sorted(findings, key=lambda f: (f.span, f.code))


def _finding(place: _Placed, rule: Rule) -> Finding:
    occurrence = place.occurrence
    severity = rule.severity
    if severity is Severity.ERROR and all(region.soft for region in place.regions):
        severity = Severity.WARNING
    return Finding(
        code=rule.code,
        rule=rule.slug,
        severity=severity,
        confidence=Confidence(occurrence.confidence),
        span=occurrence.span,
        function=place.function,
        message=(occurrence.message or rule.message).format(operation=occurrence.operation),
        help=occurrence.help or rule.help,
        why=rule.why,
        regions=(place.nearest, *sorted(place.regions - {place.nearest})),
        chain=place.chain,
    )
