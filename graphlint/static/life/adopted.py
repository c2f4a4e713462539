"""Tensors of a caller that become inputs of a graph as they are: the data of later calls is written over them."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import InputAdopted
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Frame, Object, Place, Thing, things_in
from graphlint.static.life.record import Write
from graphlint.static.syntax import ir


@dataclass
class Adopted(Listener):
    """Follows one run; who captures with an example of his own gives that away, and another call brings none."""

    tell: Tell
    kept: dict[Thing, Place] = field(default_factory=dict)  # where an argument was put into an attribute or a global
    told: set[Thing] = field(default_factory=set)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        if isinstance(place.node, ir.Assign) and not isinstance(owner, Frame):
            held = value.values() if isinstance(value, Container) else [value]
            self.kept |= {one: place for one in held if isinstance(one, Thing) and one.argument is not None}

    def written(self, write: Write) -> None:
        target = write.target.root
        if not write.is_sure or write.method != "copy_" or target.argument is None or target in self.told:
            return
        given = (one.root for one in write.values if isinstance(one, Thing))
        if not any(one is not target and one.argument == target.argument for one in given):
            return
        for capture in self.ledger.latest.values():
            if target in capture.reads and self._is_later(capture, target):
                self.told.add(target)
                self.tell(InputAdopted(target.argument), self.kept.get(target, capture.place), capture)
                return

    def _is_later(self, capture: Capture, target: Thing) -> bool:
        """Whether the function which was given a tensor, and captured, is called once more."""
        owner = capture.owner
        for earlier in owner.stack() if isinstance(owner, Frame) else ():
            if earlier.is_entry and any(one is target for held in earlier.env.values() for one in things_in(held)):
                codes = (one.function.code for one in self.ledger.frames if one is not earlier and one.is_entry)
                return any(one is earlier.function.code for one in codes)
        return False
