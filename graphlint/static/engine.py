"""Regions and what they reach in, findings out: one for each rule and place, with every region and the shortest way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphlint.finding import Confidence, Finding, Hop, Region, Severity, Span
from graphlint.rulebook import Rulebook
from graphlint.static.frames import Event, OpenRegion, reachable


@dataclass
class Reached:
    """What the regions reach, for the summary."""

    functions: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    unresolved: dict[Span, str] = field(default_factory=dict)


@dataclass
class _Place:
    event: Event
    function: str
    chain: tuple[Hop, ...]
    regions: dict[Region, None] = field(default_factory=dict)


def collect_findings(regions: Iterable[OpenRegion], rulebook: Rulebook) -> tuple[list[Finding], Reached]:
    """Every finding that the rulebook has a rule for."""
    reached = Reached()
    places: dict[tuple[str, Span], _Place] = {}
    for opened in regions:
        for context, way in reachable(opened.context):
            reached.functions.add(context.function)
            reached.paths.add(context.path)
            reached.unresolved.update(context.unresolved)
            for event in context.events.values():
                _add(places, opened.region, context.function, event, way)
    findings = [finding for (_, _), place in places.items() if (finding := _finding(place, rulebook)) is not None]
    return sorted(findings, key=lambda f: (f.span, f.code)), reached


def _add(
    places: dict[tuple[str, Span], _Place], region: Region, function: str, event: Event, way: tuple[Hop, ...]
) -> None:
    key = (event.effect, event.span)
    place = places.get(key)
    if place is None:
        place = places[key] = _Place(event, function, way)
    if event.confidence > place.event.confidence:
        place.event = event
    if len(way) < len(place.chain):
        place.chain = way
    place.regions.setdefault(region)


def _finding(place: _Place, rulebook: Rulebook) -> Finding | None:
    event = place.event
    rule = rulebook.for_effect(event.effect)
    if rule is None:
        return None
    severity = rule.severity
    if severity is Severity.ERROR and all(region.soft for region in place.regions):
        severity = Severity.WARNING
    return Finding(
        code=rule.code,
        rule=rule.slug,
        severity=severity,
        confidence=Confidence(event.confidence),
        span=event.span,
        function=place.function,
        message=event.message or rule.message.format(operation=event.operation),
        help=event.help or rule.help,
        why=rule.why,
        regions=tuple(sorted(place.regions)),
        chain=place.chain,
    )
