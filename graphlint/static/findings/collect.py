"""Regions and what they reach in, findings out: one for each rule and place, with every region and the surest way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field, replace

from graphlint.finding import Condition, Confidence, Finding, Hole, Hop, Region, Severity, Span
from graphlint.rulebook import Rulebook
from graphlint.rulebook.page import Rule
from graphlint.static.domain.contexts import Context, Occurrence, OpenRegion
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.findings.exits import IN_EXITS
from graphlint.static.findings.taken import is_taken_up
from graphlint.static.findings.ways import Way, Ways

# No mistake of engines and libraries that is on record needs more. Of 51 findings that were read and do, 9 were true.
MAX_SUBJECTS = 6
MAX_TESTS = 4  # those of them that the code asks; the others say which of several objects is called
# The files and the conditions of a way that no program takes as a rule: of 9 findings with more of both none was true.
MAX_FILES, MAX_ON_THE_WAY = 5, 3
# The conditions with which some effects were found to be true: of 18 with more that were read none was.
MAX_CONDITIONS = {"pinned-source": 0, "growing-memory": 2}


@dataclass
class _Placed:
    """An event with the regions that reach it, and the way from the first of them that needs the fewest conditions.

    `is_first` says that only the first run of its sizes goes this way, and `exits` where functions ask on it whether to
    end early. Where something is refused, it `goes_on` in what is compiled, if not as a whole.
    """

    occurrence: Occurrence
    function: str
    chain: tuple[Hop, ...]
    when: tuple[Condition, ...]
    nearest: Region
    regions: set[Region] = field(default_factory=set)
    is_first: bool = False
    exits: tuple[Span, ...] = ()
    goes_on: bool = False

    @property
    def confidence(self) -> Confidence:
        """What happens under conditions does not happen whenever the region runs, against defaults hardly ever.

        Neither does what so many things have to come together for, of which nothing says that they do, nor what holds
        and does not hold in the same words.
        """
        said = {condition.text for condition in self.when}
        asked = [condition for condition in self.when if condition.opposite]
        files = {self.occurrence.span.path, *(hop.path for hop in self.chain)}
        is_doubtful = len(_subjects(self.when)) > MAX_SUBJECTS or len(_subjects(asked)) > MAX_TESTS
        is_far = len(files) > MAX_FILES and len(_subjects(self.when)) > MAX_ON_THE_WAY
        is_far = is_far or len(self.when) > MAX_CONDITIONS.get(self.occurrence.effect, len(self.when))
        if is_doubtful or is_far or any(condition.opposite in said for condition in asked):
            return Confidence.LOW
        sure = [self.occurrence.confidence]
        sure += [Confidence.MEDIUM if condition.is_default else Confidence.LOW for condition in self.when]
        return min(sure)

    @property
    def rank(self) -> tuple[int, bool, int, int, Region]:
        """The least is the one to tell of."""
        return -self.confidence, self.is_first, len(self.when), len(self.chain), self.nearest


def _subjects(conditions: Iterable[Condition]) -> set[tuple[str, str]]:
    """What conditions ask about; the same words in two functions ask about what one hands to the other."""
    return set({condition.text: condition.subject for condition in conditions}.values())


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

    def add(self, opened: OpenRegion, ways: Ways) -> None:
        """Add what one region reaches."""
        self.regions.add(opened.region)
        places: dict[tuple[tuple[str, Span], Confidence], tuple[Occurrence, Context, list[Way]]] = {}
        for context, found in ways.reach(opened.context):
            self.functions.add(context.function)
            self.paths.add(context.path)
            self.unresolved.update((span, callee.text) for span, callee in context.unresolved.items())
            for key, occurrence in context.occurrences.items():
                alike = key, occurrence.confidence
                _, _, known = places.get(alike, (occurrence, context, []))
                for way in found:
                    known = ways.reaching(known, way, occurrence.assumed)
                places[alike] = occurrence, context, known
        for (key, _), (occurrence, context, known) in places.items():
            way, can_be = ways.likeliest(known, context, opened)
            chain = tuple(site.hop for site in way.sites)
            when = ways.conditions(way, context, opened)
            sure = occurrence.confidence if can_be and not is_taken_up(occurrence, way.sites) else Confidence.LOW
            told = replace(occurrence, assumed=(), confidence=sure)
            is_first = ways.is_first(way, context, opened)
            exits = ways.exits(way) if told.effect in IN_EXITS else ()
            goes_on = opened.region.soft and not opened.is_whole
            place = _Placed(
                told, context.function, chain, when, opened.region, {opened.region}, is_first, exits, goes_on
            )
            self._add(key, place)

    def around(self, occurrence: Occurrence, function: str, region: Region) -> None:
        """Add what stands around a region, and not in it."""
        place = _Placed(occurrence, function, (), (), region, {region})
        self._add((occurrence.effect, occurrence.span), place)

    def doubt(self, is_refuted: Callable[[tuple[Condition, ...], Span], bool]) -> None:
        """Be less sure of what programs that were run from end to end speak against, by its conditions or its place."""
        for key, place in self.places.items():
            if is_refuted(place.when, place.occurrence.span):
                self.places[key] = replace(place, occurrence=replace(place.occurrence, confidence=Confidence.LOW))

    def trust(self, is_confirmed: Callable[[Condition], bool]) -> None:
        """Be surer of what a program that was run from end to end comes to, whatever the defaults say."""
        for key, place in self.places.items():
            if any(not one.is_default and is_confirmed(one) for one in place.when):
                when = tuple(replace(one, is_default=one.is_default or is_confirmed(one)) for one in place.when)
                self.places[key] = replace(place, when=when)

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
            self._add(key, place)

    def _add(self, key: tuple[str, Span], place: _Placed) -> None:
        known = self.places.get(key)
        best = place if known is None or place.rank < known.rank else known
        if known is not None:
            best.regions, best.goes_on = known.regions | place.regions, known.goes_on or place.goes_on
        self.places[key] = best


def gather(regions: Iterable[OpenRegion], evaluator: Evaluator) -> Reached:
    """What all of these regions reach."""
    reached, ways = Reached(), Ways(evaluator)
    for opened in regions:
        reached.add(opened, ways)
    return reached


def collect_findings(reached: Reached, rulebook: Rulebook) -> list[Finding]:
    """The findings in order of place. Raises LookupError for an effect without a rule."""
    placed = [(place, rulebook.for_effect(place.occurrence.effect)) for place in reached.places.values()]
    refused = [place for place, rule in placed if rule.outcome == "capture-error"]
    spans = [place.occurrence.span for place in refused]
    lines = {(one.path, one.line) for one in (p.occurrence.span for p in refused if p.confidence > Confidence.LOW)}
    for place, rule in placed:
        is_left = any(_holds(asked, span) for asked in place.exits for span in spans)
        if is_left or (rule.outcome != "capture-error" and _is_behind(place, lines)):
            place.occurrence = replace(place.occurrence, confidence=Confidence.LOW)
    findings = [_finding(place, rule) for place, rule in placed if "check" in rule.witness]
    return sorted(findings, key=lambda f: (f.span, f.code))


def _is_behind(place: _Placed, refused: Set[tuple[str, int]]) -> bool:
    """Whether something stands behind a test that captures are refused at, so that none gets there."""
    asked = {(condition.path, condition.line) for condition in place.when if condition.opposite}
    return not asked.isdisjoint(refused) and not place.goes_on


def _holds(outer: Span, inner: Span) -> bool:
    """Whether one stretch of a file lies in another one."""
    begins, ends = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return (
        outer.path == inner.path and begins <= (inner.line, inner.column) and (inner.end_line, inner.end_column) <= ends
    )


def _finding(place: _Placed, rule: Rule) -> Finding:
    occurrence = place.occurrence
    severity = Severity.NOTE if occurrence.is_note else rule.severity
    is_soft = all(region.soft for region in place.regions)
    if severity is Severity.ERROR and is_soft:
        severity = Severity.WARNING
    # A capture that is refused is noticed, and what it needs is run before; what others keep of it is not. Compilers
    # run new sizes before they record them.
    is_noticed = place.is_first and (is_soft or rule.outcome == "capture-error")
    message = (occurrence.message or rule.message).format(operation=occurrence.operation)
    return replace(
        rule.finding(occurrence.span, message, place.function),
        severity=severity,
        confidence=Confidence.LOW if is_noticed else place.confidence,
        help=occurrence.help or rule.help,
        regions=(place.nearest, *sorted(place.regions - {place.nearest})),
        chain=place.chain,
        when=place.when,
        related=occurrence.related,
    )
