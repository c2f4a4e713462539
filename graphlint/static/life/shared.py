"""Outputs of graphs that share a pool: the graph of an earlier capture works in the memory of a later one's outputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import OutputKept
from graphlint.static.life.ledger import Listener, Tell, tensors_in
from graphlint.static.life.objects import Capture, Container, Made, Object, Place, Tensor, Thing


@dataclass
class Shared(Listener):
    """Follows one run; a `single` module needs no memory but that of its output.

    What a capture frees again, the next one of its pool takes, for its outputs too. Outputs of the first are held when
    the second begins, and stay what they are.
    """

    tell: Tell
    single: frozenset[str]
    told: set[tuple[Capture, Capture]] = field(default_factory=set)
    working: set[Capture] = field(default_factory=set)  # captures that read what they have made
    kept: dict[Thing, Place] = field(default_factory=dict)  # where outputs were put into a container

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None and any(one.root.made_in is capture for one in things):
            self.working.add(capture)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if self.ledger.capture is None:
            self.kept |= {one.root: place for one in tensors_in(value) if one.root.made_in is not None}

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        made = thing.root.made_in
        if made is None or not made.replays or made not in self.ledger.latest.values():
            return
        pool = self._pool(made)
        for other in self.ledger.latest.values() if pool is not None else ():
            is_earlier = other.ended is not None and other.ended < made.began and bool(other.replays)
            is_late = is_earlier and self._lets_go(other) and other.replays[-1] > made.replays[-1]
            is_overwritten = is_late and self._pool(other) is pool
            if is_overwritten and (other, made) not in self.told:
                self.told.add((other, made))
                is_known = isinstance(thing.root, Tensor) and is_sure
                self.tell(OutputKept("pool", True, is_known), self.kept.get(thing.root, place), made)

    def _lets_go(self, capture: Capture) -> bool:
        """Whether a capture needs memory in between, as all do but those of one module that needs its output alone."""
        classes = [one.cls.rpartition(".")[2] if isinstance(one, Made) else "" for one in capture.modules]
        is_single = len(classes) == 1 and classes[0] in self.single
        return capture in self.working or bool(capture.callees) or (bool(classes) and not is_single)

    def _pool(self, capture: Capture) -> Object:
        """The pool of a capture: what it was given, or that of the graph which was asked for it; None for its own."""
        given = capture.manager.given if isinstance(capture.manager, Made) else {}
        pool = given.get(1, given.get("pool"))
        call = self.ledger.origin(pool)
        if call is not None and call.last == "pool" and call.owner in self.ledger.latest:
            return self._pool(self.ledger.latest[call.owner]) or call.owner
        return pool if isinstance(pool, Thing) else capture.graph
