"""What a capture takes from the data that it is made with: numbers that bound its inputs, and keys that lack them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import ExampleValue, IncompleteKey
from graphlint.static.domain.program import Function
from graphlint.static.life.growth import directly_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import (
    Capture,
    Container,
    Frame,
    Instance,
    Object,
    Place,
    Symbol,
    Tensor,
    Thing,
    things_in,
)
from graphlint.static.life.questions import parts_of, read_in
from graphlint.static.life.record import Write
from graphlint.static.life.tensors import End, end_of
from graphlint.static.syntax import ir


@dataclass(frozen=True, slots=True)
class Cut:
    """An input that ends where a tensor of the call that captures ends: at `bound`, by the size of what is in `of`."""

    view: Tensor
    made: Place
    node: ir.Node
    of: frozenset[str]


@dataclass
class Examples(Listener):
    """Follows one run."""

    tell: Tell
    cuts: dict[Capture, list[Cut]] = field(default_factory=dict)
    kept: list[tuple[Object, Object, Place]] = field(default_factory=list)  # key, what is under it, where
    numbers: dict[Capture, dict[Symbol, Place]] = field(default_factory=dict)  # that a region is given, and were read

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        if self.ledger.capture is not None:
            self.numbers.setdefault(self.ledger.capture, {}).update(_read_out_in(given))

    def ended(self, capture: Capture) -> None:
        for (owner, _), value in capture.paths.items():
            bounds = value.bounds.values() if isinstance(value, Tensor) and not isinstance(owner, Frame) else ()
            for bound in bounds:
                read = read_in(part for part in parts_of(bound) if not isinstance(bound, Tensor))
                if read is not None:
                    self.tell(ExampleValue(), read, capture)
        for view in capture.views:
            if isinstance(view, Tensor) and view.made is not None:
                self.numbers.setdefault(capture, {}).update(_read_out_in([*view.bounds.values()]))
                cuts = [Cut(view, view.made, node, sizes(bound)) for node, bound in view.bounds.items()]
                self.cuts.setdefault(capture, []).extend(cut for cut in cuts if cut.of)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if container.kind == "dict" and self.ledger.capture is None:
            self.kept.append((key, value, place))

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        for cut in self.cuts.get(capture, ()) if not self._kept(capture) else ():
            if any(self._is_other(write.target, cut) for write in self.ledger.since(cut.view.root, last)):
                self.tell(ExampleValue(is_size=True), cut.made, capture)

        self._read_out(capture, last)

    def _read_out(self, capture: Capture, last: int) -> None:
        """Tell of numbers that were read out of tensors which are filled now, unless a key has them in.

        What was filled with one number before the capture may have been given the largest on purpose.
        """
        keys = [part for key, *_ in self._kept(capture) for part in parts_of(key)]
        for number, read in [*self.numbers.get(capture, {}).items()]:
            roots = {one.root for one in parts_of(number) if isinstance(one, Tensor)}
            filled = [one for root in roots for one in self.ledger.since(root, last) if one.is_sure]
            if filled and number not in keys and not any(self._is_uniform(root, capture) for root in roots):
                del self.numbers[capture][number]
                self.tell(ExampleValue(is_given=True), read, capture)

    def _is_uniform(self, root: Thing, capture: Capture) -> bool:
        before = (one for one in self.ledger.writes.get(root, ()) if one.is_sure and one.moment < capture.began)
        is_filled = any(one.method == "fill_" for one in before)
        return is_filled or (isinstance(root, Tensor) and root.factory.rpartition(".")[2].startswith("full"))

    def finished(self) -> None:
        for capture in self.ledger.captures:
            for kept in self._kept(capture):
                for cut in self.cuts.get(capture, ()):
                    self._keyed(cut.of, cut.made.function.source(cut.node), "bound", cut.made, kept, capture)
                for name, value in kept[1].attributes.items() if isinstance(kept[1], Instance) else ():
                    self._keyed(sizes(value), name, "argument", kept[2], kept, capture)

    def _kept(self, capture: Capture) -> list[tuple[Object, Object, Place]]:
        """The keys under which a graph is kept."""
        return [one for one in self.kept if capture.graph in directly_in(one[1])]

    @staticmethod
    def _is_other(target: Thing, cut: Cut) -> bool:
        """Whether a write goes up to the end of other data."""
        bounds = target.bounds.values() if isinstance(target, Tensor) else ()
        return any(isinstance(one, (Symbol, Thing)) and one is not cut.view.bounds[cut.node] for one in bounds)

    def _keyed(
        self, of: frozenset[str], name: str, use: str, used: Place, kept: tuple[Object, Object, Place], capture: Capture
    ) -> None:
        """Tell of a key that says nothing of what decides how large a graph is.

        One that has the size of another input may say it nevertheless, of one token for each request; a number that is
        picked from a table does not.
        """
        key, _, where = kept
        of -= _of_constructor(where.function)
        known = {name for one in parts_of(key) if isinstance(one, Thing) for name in [one.argument] if name is not None}
        if of and not of & known:
            made = key.made if isinstance(key, Container) and key.made is not None else where
            line = f"{used.function.module.path.name}:{used.line}"
            parts = key.values() if isinstance(key, Container) else [key]
            is_picked = any(type(one) is int for one in parts) and not any(map(sizes, parts))
            self.tell(IncompleteKey(name, use, line, is_sure=is_picked), made, capture)


def _of_constructor(function: Function) -> frozenset[str]:
    """What the object of a method was made with, which is the same for all that it keeps; names of the method aside."""
    definitions = function.owner.methods.get("__init__", ()) if function.owner is not None else ()
    codes = [one.code for one in definitions if one.code is not None]
    own = {one.name for one in function.code.parameters}
    return frozenset(one.name for code in codes for one in code.parameters if one.name not in own)


def _read_out_in(values: list[Object]) -> dict[Symbol, Place]:
    """The numbers among some values, and in what these hold, that were read out of a tensor, and where."""
    held = [*values]
    for thing in (one for value in values for one in things_in(value)):
        held += thing.values() if isinstance(thing, Container) else thing.attributes.values()
    return {one: one.read for one in held if isinstance(one, Symbol) and one.read is not None}


def leaves_rest(write: Write, end: End) -> bool:
    """Whether what is written is a part of more, and both end where the data of a call does, and no buffer."""
    parts = (end_of(value, write.place) for value in write.values if isinstance(value, Tensor))
    of = end.value.of if isinstance(end.value, Symbol) else ()
    is_of_buffer = any(isinstance(one.root, Tensor) and one.root.factory for one in of)
    is_cut = any(one is not None and one.spelt == end.spelt for one in parts)
    return is_cut and not is_of_buffer and bool(sizes(end.value))


def sizes(value: Object) -> frozenset[str]:
    """The parameters of a call from outside whose tensors' sizes a number comes from."""
    if not isinstance(value, (Symbol, Thing)) or isinstance(value, (Tensor, Container)):
        return frozenset()
    parts = list(parts_of(value))
    sized = [thing for one in parts if isinstance(one, Symbol) for thing in one.of]
    tensors = [one for one in parts if isinstance(one, Tensor)]
    return frozenset(one.argument for one in (*sized, *tensors) if one.argument is not None)
