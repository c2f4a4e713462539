"""Rows behind a request that are filled with zeros, and that a region takes into what it computes of all rows.

A mean counts them, and a normalisation over the batch learns from them. Nothing is told where the request fills
another input of the graph as well, which may say how many rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import RowsCounted
from graphlint.static.life.inputs import Inputs, goes_to_the_end
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.modes import Modes
from graphlint.static.life.objects import Capture, Made, Object, Place, Symbol, Thing
from graphlint.static.life.record import Call, Write
from graphlint.static.life.tensors import end_of


@dataclass
class Padded(Listener):
    """Follows one run; `counting` methods divide by how many rows there are, `batched` modules do so in training."""

    tell: Tell
    inputs: Inputs
    modes: Modes
    counting: frozenset[str]
    batched: frozenset[str]
    places: dict[Capture, Place] = field(default_factory=dict)  # where a region counts its rows

    def answered(self, call: Call) -> None:
        extent = call.given.get(0 if isinstance(call.owner, Thing) else 1, "dim")
        is_first = extent is None or (type(extent) is int and extent == 0)
        if self.ledger.capture is not None and call.last in self.counting and is_first:
            self.places.setdefault(self.ledger.capture, call.place)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        capture = self.ledger.capture
        is_batched = isinstance(module, Made) and module.cls.rpartition(".")[2] in self.batched
        if capture is not None and is_batched and self.modes.training.get(module, True):
            self.places.setdefault(capture, place)

    def replayed(self, capture: Capture, place: Place) -> None:
        where = self.places.get(capture)
        if where is None:
            return
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        since = {root: self.ledger.since(root, last) for root in self.inputs.inputs(capture)}
        filled = [writes for writes in since.values() if writes]
        bound = _padded(filled[0]) if len(filled) == 1 else None
        if bound is not None:
            self.tell(RowsCounted(bound), where, capture)


def _padded(writes: list[Write]) -> str | None:
    """Where the data ends, as it is spelt, of an input that is filled with it, and with a constant behind it."""
    if not all(write.is_sure for write in writes) or not any(map(_is_constant, writes)):
        return None
    ends = [end_of(one.target, one.place) for one in writes if not _is_constant(one)]
    return next((one.spelt for one in ends if one is not None), None) if all(ends) else None


def _is_constant(write: Write) -> bool:
    """Whether a write fills all of an input with a number, or what lies behind a place."""
    is_rest = write.is_whole or goes_to_the_end(write)
    return is_rest and all(not isinstance(value, (Symbol, Thing)) for value in write.values)
