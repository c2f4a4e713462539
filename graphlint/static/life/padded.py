"""Rows behind a request, which are no data: a region that computes something of all rows, and who reads from the end.

A mean counts them, and a normalisation over the batch learns from them. Nothing is told of that where the request fills
another input of the graph as well, which may say how many rows there are. The last rows of what the graph gives are
those of a request only if that filled the last ones of all that it filled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from graphlint.rule import OutputKept, RowsCounted
from graphlint.static.life.inputs import Inputs, goes_to_the_end
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.modes import Modes
from graphlint.static.life.objects import Capture, Frame, Made, Object, Place, Symbol, Tensor, Thing
from graphlint.static.life.record import Call, Write
from graphlint.static.life.tensors import End, end_of, history, modules_in
from graphlint.static.syntax import ir


@dataclass
class Padded(Listener):
    """Follows one run; `counting` methods divide by how many rows there are, `batched` modules do so in training.

    `ranking` methods put what they are given in order, by its last dimension if they are not told another one. What
    `biased` modules give of rows of zeros are no zeros, so that `reducing` methods count them as well.
    """

    tell: Tell
    inputs: Inputs
    modes: Modes
    counting: frozenset[str]
    batched: frozenset[str]
    ranking: frozenset[str]
    reducing: frozenset[str]
    biased: frozenset[str]
    rows: set[Thing] = field(default_factory=set)  # what biased modules give
    places: dict[Capture, Place] = field(default_factory=dict)  # where a region counts its rows
    ends: dict[Capture, End] = field(default_factory=dict)  # up to where all was filled for the last replay

    def answered(self, call: Call) -> None:
        extent = call.given.get(0 if isinstance(call.owner, Thing) else 1, "dim")
        is_first = extent is None or (type(extent) is int and extent == 0)
        if self.ledger.capture is None:
            return
        is_told = call.last in self.ranking and _ranks_rows(call)
        counts = call.last in self.counting or (call.last in self.reducing and self._is_of_rows(call))
        if is_told or (counts and is_first):
            self.places.setdefault(self.ledger.capture, call.place)

    def _is_of_rows(self, call: Call) -> bool:
        """Whether something is computed of what a biased module gives."""
        computed = call.owner if isinstance(call.owner, Thing) else call.given.get(0, "input")
        return any(one in self.rows for one in history(computed))

    def _adds(self, module: Thing) -> bool:
        """Whether a module adds something to each row."""
        is_biased = isinstance(module, Made) and module.cls.rpartition(".")[2] in self.biased
        return is_biased and isinstance(module, Made) and module.given.get("bias") is not False

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None and isinstance(result, Thing) and any(map(self._adds, modules_in(module))):
            self.rows.add(result)
        is_batched = isinstance(module, Made) and module.cls.rpartition(".")[2] in self.batched
        if capture is not None and is_batched and self.modes.training.get(module, True):
            self.places.setdefault(capture, place)

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        since = {root: self.ledger.since(root, last) for root in self.inputs.inputs(capture)}
        filled = [writes for writes in since.values() if writes]
        self.ends.pop(capture, None)
        if (end := _common_end(filled)) is not None:
            self.ends[capture] = end
        where, bound = self.places.get(capture), _padded(filled[0]) if len(filled) == 1 else None
        if bound is not None and where is not None:
            self.tell(RowsCounted(bound), where, capture)

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        self._taken(thing)

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        self._taken(value)

    def _taken(self, value: Object) -> None:
        """Tell of the last rows of an output, as many as the first ones that were filled."""
        if not self.ends or self.ledger.capture is not None or not isinstance(value, Tensor):
            return
        root = value.root
        for capture, end in self.ends.items():
            is_output = root.made_in is capture or (root in capture.writes and root not in capture.reads)
            if is_output and value.made is not None and _is_from_the_end(value, value.made, end):
                self.tell(OutputKept("last", True), value.made, capture)


def _ranks_rows(call: Call) -> bool:
    """Whether a call says that it is for the first dimension: by name, or at the end of what it is given."""
    given = call.given
    extent = given.keywords.get("dim", given.positional[-1] if given.positional else None)
    return type(extent) is int and extent == 0


def _common_end(filled: list[list[Write]]) -> End | None:
    """Up to where all inputs are filled that are filled with more than a constant."""
    writes = [one for each in filled for one in each if not _is_constant(one)]
    ends = [end_of(one.target, one.place) if one.is_sure else None for one in writes]
    first = ends[0] if ends else None
    return first if first is not None and all(one is not None and one.is_same(first, True) for one in ends) else None


def _is_from_the_end(view: Tensor, place: Place, end: End) -> bool:
    """Whether a view has the last rows, in the function that has filled as many: `out[-n:]`."""
    match view.index:
        case ir.Slice(bounds=(ir.Unary(operator="-", operand=count), None, None)):
            return place.function.code is end.code and place.function.source(count) == end.spelt
    return False


def _padded(writes: list[Write]) -> str | None:
    """Where the data ends, as it is spelt, of an input that is filled with it, and with a constant behind it."""
    if not all(write.is_sure for write in writes) or not any(map(_is_constant, writes)):
        return None
    if any(isinstance(value, float) and math.isinf(value) for write in writes for value in write.values):
        return None  # rows that count for nothing
    ends = [end_of(one.target, one.place) for one in writes if not _is_constant(one)]
    return next((one.spelt for one in ends if one is not None), None) if all(ends) else None


def _is_constant(write: Write) -> bool:
    """Whether a write fills all of an input with a number, or what lies behind a place."""
    is_rest = write.is_whole or goes_to_the_end(write)
    return is_rest and all(not isinstance(value, (Symbol, Thing)) for value in write.values)
