"""Regions that launch nothing: what they do was done before, or is done later."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import EmptyGraph
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Object, Place, Thing
from graphlint.static.life.record import Call

HARMLESS = ("builtins", "contextlib", "functools", "itertools", "logging", "math", "time")


@dataclass
class Empty(Listener):
    """Follows one run, as long as the program is seen whole."""

    tell: Tell
    working: set[Capture] = field(default_factory=set)  # in which something may be launched
    decided: dict[Capture, int] = field(default_factory=dict)  # conditions that nobody knew, when a capture began
    found: list[Capture] = field(default_factory=list)

    def began(self, capture: Capture) -> None:
        self.decided[capture] = self.ledger.decided
        self.working |= {*self.ledger.open[:-1]}  # which is an error of its own

    def _works(self) -> None:
        self.working |= {*self.ledger.open}

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        self._works()

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        self._works()

    def replayed_inside(self, graph: Thing, place: Place) -> None:
        self._works()

    def answered(self, call: Call) -> None:
        if self.ledger.open and call.name.partition(".")[0] not in HARMLESS:
            self._works()

    def ended(self, capture: Capture) -> None:
        is_known = self.ledger.is_whole and not self.ledger.is_cut and self.ledger.decided == self.decided[capture]
        if is_known and capture not in self.working:
            self.found.append(capture)

    def raised(self, frame: Frame) -> None:
        """An exception that leaves a region says more of it."""
        self.found = [one for one in self.found if one.owner is not frame]

    def finished(self) -> None:
        for capture in self.found:
            self.tell(EmptyGraph(), capture.place, capture)
