"""Whether a captured backward writes the gradients that the parameters have: what had one before, and who drops them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from graphlint.rule import Event, GradientDropped, GradientFound, InputReplaced
from graphlint.static.life.ledger import Listener
from graphlint.static.life.objects import Arguments, Capture, Instance, Made, Object, Place, Tensor, Thing, things_in

Tell = Callable[[Event, Place, Capture], None]


@dataclass
class Gradients(Listener):
    """Follows one run. Gradients are known by what owns their parameters: modules, and tensors that are leaves."""

    tell: Tell
    held: set[Thing] = field(default_factory=set)  # owners whose parameters have a gradient
    dropped: dict[Capture, Place] = field(default_factory=dict)
    exchanged: dict[Capture, Place] = field(default_factory=dict)  # parameters

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        owners = _owners((owner, *given.all()) if name == "backward" else (owner,))
        match name:
            case "backward":
                self._backward(owners, place)
            case "zero_grad":
                self._zeroed(owners, given.get(0, "set_to_none") is not False, place)
            case "load_state_dict" if given.get(2, "assign") is True:
                self._exchanged(owners, place)

    def _backward(self, owners: set[Thing], place: Place) -> None:
        capture = self.ledger.capture
        if capture is not None:
            capture.facts.setdefault("gradients", set()).update(owners)
            if self.held & owners:
                self.tell(GradientFound(), place, capture)
        self.held |= owners

    def _zeroed(self, owners: set[Thing], to_none: bool, place: Place) -> None:
        if to_none or self.ledger.capture is not None:
            self.held -= owners
        if to_none and self.ledger.capture is None:
            for capture in self.ledger.latest.values():
                if capture.facts.get("gradients", set()) & owners:
                    self.dropped[capture] = place

    def _exchanged(self, owners: set[Thing], place: Place) -> None:
        for capture in self.ledger.latest.values():
            if owners & _owners(capture.facts.get("modules", {})):
                self.exchanged[capture] = place

    def rebound(self, owner: Thing, name: str, before: Object, value: Object, place: Place) -> None:
        if name == "grad":
            owners = _owners((owner,))
            if value is None:
                self._zeroed(owners, True, place)
        elif name == "data":
            self._exchanged(_owners((owner,)), place)

    def replayed(self, capture: Capture, place: Place) -> None:
        if capture in self.dropped:
            self.tell(GradientDropped(), self.dropped.pop(capture), capture)
        if capture in self.exchanged:
            self.tell(InputReplaced("", capture.region.line, True), self.exchanged.pop(capture), capture)


def _owners(values: Iterable[Object]) -> set[Thing]:
    """The modules, and the things that may be some, that values were computed from or hold."""
    found: set[Thing] = set()
    pending = [thing for value in values for thing in things_in(value)]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        pending += [thing for source in one.source for thing in things_in(source)]
    return {one for one in found if isinstance(one, (Made, Instance)) or type(one) is Thing or _is_leaf(one)}


def _is_leaf(thing: Thing) -> bool:
    return isinstance(thing, Tensor) and thing.factory.endswith("Parameter")
