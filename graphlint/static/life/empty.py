"""Regions that launch nothing: what they do was done before, or is done later."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import EmptyGraph
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Object, Place, Tensor, Thing
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir

_DEPTH = 20  # operations that a tensor was computed by
HARMLESS = ("builtins", "contextlib", "functools", "itertools", "logging", "math", "time")


@dataclass
class Empty(Listener):
    """Follows one run, as long as the program is seen whole; methods that are `moving` copy to another device."""

    tell: Tell
    moving: frozenset[str]
    working: set[Capture] = field(default_factory=set)  # in which something may be launched
    decided: dict[Capture, int] = field(default_factory=dict)  # conditions that nobody knew, when a capture began
    found: list[Capture] = field(default_factory=list)

    def began(self, capture: Capture) -> None:
        self.decided[capture] = self.ledger.decided
        self.working |= {*self.ledger.open[:-1]}  # which is an error of its own

    def _works(self) -> None:
        self.working |= {*self.ledger.open}

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if not (things and all(map(self._is_on_host, things))):
            self._works()

    def _is_on_host(self, thing: Thing, depth: int = _DEPTH) -> bool:
        """Whether a tensor surely lies on the host: it was made there, or is computed of such tensors alone."""
        root = thing.root
        if not isinstance(root, Tensor) or depth == 0:
            return False
        if root.place is not None:
            return root.place == "host"
        node = root.made.node if root.made is not None else None
        asks = isinstance(node, ir.Call) and any(one.keyword == "device" for one in node.arguments)
        is_moved = asks or root.factory.rpartition(".")[2] in self.moving
        sources = root.source if not is_moved else ()
        return bool(sources) and all(self._is_on_host(one, depth - 1) for one in sources)

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        if not is_known:
            self._works()

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        self._works()

    def replayed_inside(self, graph: Thing, place: Place) -> None:
        self._works()

    def answered(self, call: Call) -> None:
        if self.ledger.open and call.name.partition(".")[0] not in HARMLESS:
            given = [one for one in (call.owner, *call.given.all(), call.result) if isinstance(one, Thing)]
            self.worked(tuple(given), call.place)

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
