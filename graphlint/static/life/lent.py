"""Outputs that a callable lends until its next call, which writes over them: who keeps one has to copy it before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from graphlint.rule import OutputKept
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Instance, Object, Place, Thing


class Output(NamedTuple):
    """What a call gave, of the graph of that region, and where it was called."""

    region: Capture
    place: Place  # where it was given, or an object has kept it
    is_free: bool  # of gradients, for which it might wait
    by: object = None  # what was called
    given: tuple[Object, ...] = ()


@dataclass
class Lent(Listener):
    """Follows one run; who derives from it says when outputs come and when they are over."""

    tell: Tell
    outputs: dict[Thing, Output] = field(init=False, default_factory=dict)  # that nothing has written over
    gone: dict[Thing, Output] = field(init=False, default_factory=dict)
    kept: list[tuple[Container, Thing, Place]] = field(init=False, default_factory=list)  # where outputs were put

    def over(self, is_over: Callable[[Output], bool], given: Collection[Thing] = ()) -> None:
        """Some outputs are written over from now on, by a call that is given these."""
        for container, value, where in self.kept:
            output = self.outputs.get(value.root)
            if output is not None and is_over(output) and any(held is value for held in container.values()):
                self.tell_kept(output._replace(place=where), "collected")
                del self.outputs[value.root]  # which is told of once
        self.kept = [one for one in self.kept if one[1].root in self.outputs and not is_over(self.outputs[one[1].root])]
        ending = {root: output for root, output in self.outputs.items() if is_over(output)}
        for root in ending.keys() & set(given):
            self.tell_kept(ending[root], "given")
        self.gone |= ending
        self.outputs = {root: output for root, output in self.outputs.items() if root not in ending}

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        output = self.gone.pop(thing.root, None)
        if output is not None:
            self.tell_kept(output, "read")

    def tell_kept(self, output: Output, how: str) -> None:
        self.tell(OutputKept(how, True, output.is_free), output.place, output.region)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """What an object keeps of an output is to be copied there."""
        output = self.outputs.get(value.root) if isinstance(value, Thing) else None
        if output is not None and isinstance(value, Thing) and isinstance(owner, Instance):
            self.outputs[value.root] = output._replace(place=place)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        if isinstance(value, Thing) and value.root in self.outputs and self.ledger.capture is None:
            self.kept.append((container, value, place))
