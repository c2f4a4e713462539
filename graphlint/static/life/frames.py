"""How control leaves the blocks of a rehearsed run, and the outcomes of conditions that nobody knows."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field

from graphlint.static.life.objects import Object, Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name, calls_in

MAX_STEPS = 20_000  # nodes of one run
MAX_AWAY = 2_000  # of what another file does, where the steps do not last otherwise
MAX_STEPS_IN_ALL = 220_000  # of the runs of one program
MAX_STEPS_IN_VAIN = 80_000  # of those, while none has captured
MAX_STEPS_COMBINED = 20_000  # of those, before no way is gone that only combines sides of others
MAX_FORKS = 16  # conditions of one run that are tried both ways
MAX_RUNS = 20  # of one program
MAX_ROUNDS = 4  # of a loop whose rounds are known
UNKNOWN_ROUNDS = 2  # of one whose rounds are not


class Leave(Exception):
    """Control leaves a block."""


class Returned(Leave):
    def __init__(self, value: Object) -> None:
        self.value = value


class Broke(Leave):
    """`break`."""


class Continued(Leave):
    """`continue`."""


class Raised(Leave):
    """An exception of the program."""


class Stopped(Exception):
    """The run has taken too many steps, or cannot go on."""


class Wearied(Exception):
    """What can be left has taken too many steps."""


@dataclass(slots=True)
class Decisions:
    """The outcomes of what nobody knows: those that were planned, then the likely ones.

    A run is repeated with another plan for each way that has not been gone. Those in the making of an object leave as
    many for its use.
    """

    planned: tuple[bool, ...] = ()
    made: list[tuple[Place, bool, bool]] = field(default_factory=list)  # where, the outcome, whether the other is open
    free: int = 0
    begun: int | None = None  # the first decision behind the making

    def decide(self, place: Place, likely: bool, is_free: bool, has_begun: bool = False) -> bool:
        number = len(self.made)
        if has_begun and self.begun is None:
            self.begun, self.free = number, 0
        outcome = self.planned[number] if number < len(self.planned) else likely
        self.free += is_free
        self.made.append((place, outcome, is_free and self.free <= MAX_FORKS))
        return outcome

    def other_plans(self) -> Iterator[Plan]:
        """The plans that differ in one decision which this run was free in."""
        outcomes = [outcome for _, outcome, _ in self.made]
        for number in range(len(self.planned), len(self.made)):
            place, outcome, is_open = self.made[number]
            if is_open:
                is_use = self.begun is not None and number >= self.begun
                yield Plan((*outcomes[:number], not outcome), (place.node, not outcome), is_use, place.function.code)


@dataclass(frozen=True, slots=True)
class Plan:
    """The first outcomes of a run, and the condition that comes out otherwise than in the run before.

    That `is_use` if it stands behind the making of the object; it stands in this code.
    """

    outcomes: tuple[bool, ...] = ()
    turn: tuple[ir.Node, bool] | None = None
    is_use: bool = False
    code: ir.Code | None = None


@dataclass(slots=True)
class Plans:
    """What to run next: ways to sides of conditions that no run has taken, before others; those of uses by turns.

    Until a run has captured, conditions in functions that call what `opens` regions, by name, come first.
    """

    opens: Set[str] = frozenset()
    waiting: list[Plan] = field(default_factory=lambda: [Plan()])
    taken: set[tuple[ir.Node, bool]] = field(default_factory=set)
    is_use: bool = False  # whether the last one was for what the making of an object leaves open

    def next(self) -> Plan | None:
        if not self.waiting:
            return None
        new = [n for n, plan in enumerate(self.waiting) if plan.turn not in self.taken]
        near = [n for n in new if self.opens and self._is_near(self.waiting[n].code)]
        if near:
            return self.waiting.pop(near[0])
        self.is_use = not self.is_use
        number = next(
            (n for n in new if self.waiting[n].is_use is self.is_use), new[0] if new else len(self.waiting) - 1
        )
        return self.waiting.pop(number)

    def _is_near(self, code: ir.Code | None) -> bool:
        return code is not None and any(called_name(call) in self.opens for call in calls_in(code))

    def ran(self, decisions: Decisions, has_captured: bool, steps: int) -> None:
        """Learn from a run, and from how many steps all have taken: a long program gets no combinations of sides."""
        self.opens = frozenset() if has_captured else self.opens
        self.taken |= {(place.node, outcome) for place, outcome, _ in decisions.made}
        self.waiting += decisions.other_plans()
        if steps > MAX_STEPS_COMBINED:
            self.waiting = [plan for plan in self.waiting if plan.turn not in self.taken]
