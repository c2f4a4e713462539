"""The context of a region in, the ways to everything that it reaches out: what each assumes, and the calls on it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from graphlint.finding import Condition, Span
from graphlint.static.domain.assumptions import FIRST_CALL, FIRST_READ, Assumption, Assumptions, parts
from graphlint.static.domain.contexts import Context, OpenRegion, Site
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.findings.around import is_put_out_around
from graphlint.static.findings.earlier import run_before
from graphlint.static.findings.exits import exits_asked
from graphlint.static.findings.filled import is_filled_in
from graphlint.static.findings.flags import is_never_set
from graphlint.static.findings.inferring import trains_without_gradients
from graphlint.static.findings.left import is_denied, leaves_out
from graphlint.static.findings.made import Made
from graphlint.static.findings.makers import is_for_others
from graphlint.static.findings.nested import captures_again, chooses_graphs
from graphlint.static.findings.off import is_off
from graphlint.static.findings.once import Once
from graphlint.static.findings.origins import contradicts
from graphlint.static.findings.phases import is_other_phase
from graphlint.static.findings.promises import Promises
from graphlint.static.findings.refused import is_refused
from graphlint.static.findings.trials import is_tried
from graphlint.static.findings.unnamed import Unnamed
from graphlint.static.findings.used import asks_for_used
from graphlint.static.findings.withheld import is_withheld
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, branches_in, names_in, walk
from graphlint.values import External

MAX_WAYS = 4  # to one place; more tell nothing that these do not


@dataclass(frozen=True, slots=True)
class Way:
    """How a place is reached. What is assumed are numbers: those of a test and its opposite differ in the last bit."""

    assumed: tuple[int, ...] = ()
    sites: tuple[Site, ...] = ()

    @property
    def length(self) -> tuple[int, int]:
        return len(self.assumed), len(self.sites)


class Ways:
    """The ways to what regions reach, those of the fewest assumptions."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._order = evaluator.class_order
        self._project = evaluator.project
        self._lexicon = evaluator.lexicon
        self._promises = Promises(evaluator.project, evaluator.lexicon)
        self._once = Once(evaluator)
        self._made = Made(evaluator)
        self._unnamed = Unnamed(evaluator)
        self._numbers: dict[tuple[ir.Expr, str], int] = {}
        self._assumptions: dict[int, Assumption] = {}
        self._filled: dict[OpenRegion, frozenset[str]] = {}

    def reach(self, start: Context) -> Iterator[tuple[Context, list[Way]]]:
        """Every context that one reaches, with the ways there."""
        ways: dict[Context, list[Way]] = {start: [Way()]}
        turn = 0
        queue = [((0, 0), turn, start)]
        while queue:
            _, _, context = heapq.heappop(queue)
            for callee, site in context.calls.items():
                known = ways.get(callee, [])
                more = known
                for way in ways[context]:
                    for assumed in context.ways[callee]:
                        more = self.reaching(more, way, assumed, site)
                if more is not known:
                    ways[callee] = more
                    turn += 1
                    heapq.heappush(queue, (more[0].length, turn, callee))
        yield from ways.items()

    def reaching(self, ways: list[Way], way: Way, assumed: Assumptions, *sites: Site) -> list[Way]:
        """The ways to a place with one more, which goes on from another place."""
        numbers = [self._number(one) for one in assumed]
        if ways and not ways[0].assumed:
            return ways  # which is most of them: one that assumes nothing says it all
        return self.joined(ways, Way(tuple(dict.fromkeys((*way.assumed, *numbers))), (*way.sites, *sites)))

    def joined(self, ways: list[Way], way: Way) -> list[Way]:
        """The ways with one more, the best first; the same list if it tells nothing new.

        Two that only differ in how one test came out are one without it.
        """
        if not ways:
            return [way]
        new = set(way.assumed)
        for other in ways:
            if new.issuperset(other.assumed):
                return ways
            different = new.symmetric_difference(other.assumed)
            if len(different) == 2 and max(different) ^ 1 == min(different):
                rest = [one for one in ways if one is not other]
                shorter = min(way, other, key=lambda one: len(one.sites))
                return self.joined(rest, Way(tuple(n for n in way.assumed if n not in different), shorter.sites))
        if len(ways) >= MAX_WAYS and way.length >= ways[-1].length:
            return ways
        return sorted((*ways, way), key=lambda one: one.length)[:MAX_WAYS]

    def likeliest(self, ways: list[Way], place: Context, opened: OpenRegion) -> tuple[Way, bool]:
        """The best way to a place that is for the device that captures, on which it captures once, and on which nothing
        contradicts what else is assumed, if there is one; and whether there is.
        """
        if is_off(opened.region, self._project):
            return ways[0], False
        for way in ways:
            assumed = [self._assumptions[number] for number in way.assumed]
            if is_for_others(way.sites, place, opened.region, self._lexicon):
                continue
            if chooses_graphs(way.sites, self._lexicon):
                continue
            if captures_again(way.sites) or asks_for_used(assumed, way.sites) or is_refused(way.sites, place):
                continue
            if is_withheld(way.sites, place, self._project) or is_put_out_around(assumed, way.sites, self._evaluator):
                continue
            if is_tried(opened.region, (site.path for site in way.sites), place.path, self._project.trials):
                continue
            if not contradicts(assumed, way.sites, opened, self._order, self._promises):
                return way, True
        return ways[0], False

    def conditions(self, way: Way, place: Context, opened: OpenRegion) -> tuple[Condition, ...]:
        """What has to hold on a way to a place from a region, before which some functions ran, for a report."""
        found: dict[Condition, None] = {}
        assumed = [self._assumptions[number] for number in way.assumed]
        entry = way.sites[1].function if len(way.sites) > 1 else None
        asked = [pair for one in assumed if one.is_plain for pair in one.asked]
        has_run = bool(assumed) and self._is_run_first(way, opened)
        for assumption in assumed:
            is_filled = assumption.is_unfilled and self._is_warm(way, assumption, opened)
            is_filled = is_filled or (has_run and self._once.is_put_out(assumption, assumed, way.sites, place))
            is_odd = (is_filled and not self._asks_clock(assumption)) or is_other_phase(
                assumption, way.sites, opened, self._lexicon
            )
            is_odd = is_odd or trains_without_gradients(assumption, way.sites, self._evaluator)
            is_odd = is_odd or self._unnamed.denies(assumption)
            # Who calls what is declared is not seen, and may give what its annotation does not say.
            is_entry = opened.region.entry is not None and entry in (None, assumption.function)
            for one, (test, outcome) in zip(assumption.conditions, assumption.asked, strict=True):
                is_left = assumption.is_plain and (
                    leaves_out(test, outcome, assumption.function, way.sites)
                    or is_never_set(test, outcome, assumption.function, way.sites, self._project)
                    or is_filled_in(test, outcome, assumption.function, way.sites, asked)
                    or self._made.denies(test, outcome, assumption.function, way.sites)
                    or (not is_entry and is_denied(test, outcome, assumption.function))
                )
                found[replace(one, is_default=one.is_default and not (is_odd or is_left))] = None
        return tuple(found)

    def exits(self, way: Way) -> tuple[Span, ...]:
        """Where functions ask on a way whether to end early."""
        return exits_asked(self._assumptions[number] for number in way.assumed)

    def is_first(self, way: Way, place: Context, opened: OpenRegion) -> bool:
        """Whether only the first run of its sizes goes this way to a place, and there surely was one before."""
        if not self._is_run_first(way, opened):
            return False
        assumed = [self._assumptions[number] for number in way.assumed]
        settled = (
            one
            for one in assumed
            if one.was_asked or self._once.is_put_out(one, assumed, way.sites, place, of_sizes=True)
        )
        return any(not self._asks_clock(one) for one in settled)

    def _is_run_first(self, way: Way, opened: OpenRegion) -> bool:
        """Whether what a region calls runs before it. Who declares what is captured runs it before, as captures ask
        for; no code needs to show that.
        """
        return opened.region.entry is not None or self._has_run(way, opened)

    def _has_run(self, way: Way, opened: OpenRegion) -> bool:
        """Whether the code shows that what a region calls on a way is called before it."""
        return opened.warms_up or run_before(way.sites, self._project)

    def _is_warm(self, way: Way, assumption: Assumption, opened: OpenRegion) -> bool:
        """Whether what the region calls on a way ran before it: then its state is filled.

        An attribute is not that nothing there gave a value, or that is set to None again on the way.
        """
        has_run = self._has_run(way, opened)
        if assumption.form == FIRST_READ and isinstance(assumption.test, ir.Attribute):
            return has_run or any(function.code.name == assumption.test.attr for function in opened.warm)
        functions = (assumption.function, *(site.function for site in way.sites[1:]))
        is_own = has_run and assumption.form != FIRST_CALL  # a new tensor is a new key of what is cached
        warm = opened.warm.union(functions) if is_own else opened.warm
        if not any(function in warm for function in functions):
            return False
        asked = {_own(attribute) for attribute in _attributes_asked(assumption.test)}
        left = asked - self._filled_before(opened)
        if is_own:
            own = [function.code for function in functions if function.code.name != "__init__"]
            left -= _filled_by((*own, *_called_behind(assumption.function, assumption.test, assumption.outcome)))
        emptied = {name for function in functions for name, is_none in _attributes_set(function.code) if is_none}
        return not left and asked.isdisjoint(emptied)

    def _asks_clock(self, assumption: Assumption) -> bool:
        """Whether a test asks how long ago something was, which comes out so again: `now - self.last > interval`."""
        function, asked = assumption.function, names_in(assumption.test)
        made = (one.value for one in assignments_in(function.code) if any(names_in(t) & asked for t in one.targets))
        calls = (part for node in (assumption.test, *made) for part in walk(node) if isinstance(part, ir.Call))
        called = (self._evaluator.static_value(call.func, function.module) for call in calls)
        clocks = self._lexicon.host_state["clocks"]
        return any(isinstance(one, External) and clocks.match(one.name) is not None for one in called)

    def _filled_before(self, opened: OpenRegion) -> frozenset[str]:
        """The attributes that what ran before a region fills, but for constructors."""
        if opened not in self._filled:
            self._filled[opened] = _filled_by(one.code for one in opened.warm if one.code.name != "__init__")
        return self._filled[opened]

    def _number(self, assumption: Assumption) -> int:
        key = assumption.test, assumption.form
        number = self._numbers.setdefault(key, 2 * len(self._numbers)) + assumption.outcome
        known = self._assumptions.setdefault(number, assumption)
        if assumption.is_named and not known.is_named:  # what speaks for it once, speaks for it
            self._assumptions[number] = assumption
        return number


def _called_behind(function: Function, test: ir.Expr, outcome: bool) -> Iterator[ir.Code]:
    """The methods of its object that a function calls where a test comes out like that."""
    owner, branches = function.owner, branches_in(function.code).get(test)
    for call in walk(branches.body if outcome else branches.orelse) if branches is not None else ():
        match call:
            case ir.Call(func=ir.Attribute(value=ir.Name(id="self"), attr=name)) if owner is not None:
                yield from (one.code for one in owner.methods.get(name, ()) if one.code is not None)


def _filled_by(codes: Iterable[ir.Code]) -> frozenset[str]:
    """The attributes that functions give a value."""
    return frozenset(name for code in codes for name, is_none in _attributes_set(code) if not is_none)


def _attributes_asked(test: ir.Expr) -> Iterator[str]:
    """The attributes that a test asks for their truth, or compares with None or a size.

    Of several of which one has to hold, what is asked together asks whether what is there still fits.
    """
    if isinstance(test, ir.Attribute):
        yield test.attr
    is_choice = isinstance(test, ir.Boolean) and test.operator == "or"
    for part in parts(test):
        if not (is_choice and isinstance(part, ir.Boolean) and part.operator == "and"):
            yield from _attributes_asked(part)
    if isinstance(test, ir.Compare) and test.comparisons[0][0] in ("is", "is not", ">"):
        yield from (one.attr for one in (test.left, test.comparisons[0][1]) if isinstance(one, ir.Attribute))


@remembered
def _attributes_set(code: ir.Code) -> frozenset[tuple[str, bool]]:
    """The attributes that a function assigns, and whether to None."""
    return frozenset(
        (_own(target.attr), isinstance(one.value, ir.Literal) and one.value.value is None)
        for one in assignments_in(code)
        for targets in one.targets
        for target in (targets.elements if isinstance(targets, ir.Display) else (targets,))
        if isinstance(target, ir.Attribute)
    )


def _own(attribute: str) -> str:
    """The name without underscores: a property is named like the attribute that it gives."""
    return attribute.strip("_")
