"""Inputs that say where a graph writes: what an earlier request has left in one of them writes with every replay."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.static.life.ledger import Listener, tensors_in
from graphlint.static.life.objects import Capture, Container, Object, Thing
from graphlint.static.life.record import Call

SETS = "__setitem__"


@dataclass
class Picked(Listener):
    """Follows one run; `by` are the tensors that say which places a region writes to, by operations for `placing`."""

    placing: frozenset[str] = frozenset()
    by: dict[Capture, set[Thing]] = field(default_factory=dict)

    def answered(self, call: Call) -> None:
        capture = self.ledger.capture
        if capture is not None and (call.last == SETS or call.last.removesuffix("_") in self.placing):
            index = _of_rows(call)
            self.by.setdefault(capture, set()).update(_sources(index, capture))


def _of_rows(call: Call) -> Object:
    """The index that says which rows are written to; one within rows leaves the others alone."""
    values = call.given.all()[0 if isinstance(call.owner, Thing) else 1 :]
    if values and isinstance(values[0], Container):
        return next(iter(values[0].elements), None)
    has_extent = bool(values) and not isinstance(values[0], Thing)
    if has_extent and not (type(values[0]) is int and values[0] == 0):
        return None
    return next((value for value in values[has_extent:] if isinstance(value, Thing)), None)


def _sources(index: Object, capture: Capture) -> set[Thing]:
    """What was there before a capture and an index is computed from."""
    seen: set[Thing] = set()
    pending = [*tensors_in(index)]
    for one in pending:  # which grows meanwhile
        if one.root not in seen:
            seen.add(one.root)
            pending += [part for part in one.root.source if one.root.made_in is capture]
    return {one for one in seen if one.made_in is not capture}
