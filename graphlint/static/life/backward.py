"""On which streams the backward pass of a region runs: those of its forward pass, and of the parameters' first use."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import OutsideDependency
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Arguments, Capture, Container, Instance, Made, Object, Place, Tensor, Thing
from graphlint.static.life.record import Call
from graphlint.static.life.streams import CALLERS, DEFAULT, Streams
from graphlint.static.life.tensors import is_parallel


@dataclass
class Backward(Listener):
    """Follows one run."""

    tell: Tell
    streams: Streams
    wrapped: dict[Thing, Place] = field(default_factory=dict)  # modules made parallel on the default stream
    aside: set[Thing] = field(default_factory=set)  # modules made parallel on another one
    losses: list[tuple[Thing, Place]] = field(default_factory=list)  # of backward passes on the default stream
    alive: list[tuple[Thing, Place]] = field(default_factory=list)  # of these, where the latest capture began
    eager: set[Thing] = field(default_factory=set)  # what was read outside of captures on a stream that cannot join one

    def answered(self, call: Call) -> None:
        made = call.result
        if is_parallel(made) and made not in self.aside:
            if self.streams.now is DEFAULT:
                self.wrapped.setdefault(made, call.place)
            elif made not in self.wrapped:
                self.aside.add(made)

    def began(self, capture: Capture) -> None:
        """What a name holds here keeps its graph for the forward pass of the region, which may give the name away."""
        self.alive = [one for one in self.losses if self._is_alive(one[0])]

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        if self.ledger.capture is None and self.streams.now in (DEFAULT, CALLERS):
            self.eager.update(things)

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        if name != "backward" or not isinstance(owner, Tensor):
            return
        capture = self.ledger.capture
        if capture is None:
            if self.streams.now is DEFAULT:
                self.losses.append((owner, place))
        elif owner.made_in is None and owner.source and owner not in self.ledger.escaped:
            if not self.eager.isdisjoint(owner.source):
                self.tell(OutsideDependency("forward"), place, capture)
        else:
            used = _parameters(owner)
            for module in used & self.wrapped.keys():
                self.tell(OutsideDependency("parallel"), self.wrapped[module], capture)
            for loss, where in self.alive:
                if used & _parameters(loss):
                    self.tell(OutsideDependency("backward"), where, capture)

    def _is_alive(self, loss: Thing) -> bool:
        held = (value for frame in self.ledger.frames for value in (*frame.bound(), frame.receiver))
        return any(_holds(value, loss, 3) for value in held)


def _holds(value: Object, loss: Thing, depth: int) -> bool:
    """Whether something leads to a loss itself; a view of it that is detached does not."""
    if value is loss:
        return True
    match value:
        case Container():
            inner = value.values()
        case Instance():
            inner = [*value.attributes.values()]
        case _:
            inner = []
    return depth > 0 and any(_holds(one, loss, depth - 1) for one in inner)


def _parameters(loss: Thing) -> set[Thing]:
    """The modules and parameters that a loss was computed with."""
    found: set[Thing] = set()
    pending: list[Thing] = [loss]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += one.source
    return {one for one in found if isinstance(one, Made) or (isinstance(one, Tensor) and _is_parameter(one))}


def _is_parameter(tensor: Tensor) -> bool:
    return tensor.factory.endswith("Parameter")
