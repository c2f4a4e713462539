"""What an object holds that a region gave whole to a call which nobody can follow: the graph reads it there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from graphlint.rule import InputReplaced
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Made, Object, Place, Tensor, Thing
from graphlint.static.life.tensors import begin_alike
from graphlint.static.syntax import ir

_OF_ARRAYS = frozenset({"ndim", "shape"})  # what hardly anything else is asked for


@dataclass
class Given(Listener):
    """Follows one run; `arrays` are classes of data that are no tensors."""

    tell: Tell
    arrays: frozenset[str]
    given: defaultdict[Capture, dict[Thing, Place]] = field(default_factory=lambda: defaultdict(dict))
    exchanged: defaultdict[Capture, dict[tuple[Thing, str], tuple[Object, Place]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    own: defaultdict[Capture, set[tuple[Thing, str]]] = field(default_factory=lambda: defaultdict(set))

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        """Note what a region sets itself before it gives the object away: there is nothing of others to be read."""
        capture = self.ledger.capture
        if capture is not None and owner not in self.given[capture]:
            self.own[capture].add((owner, name))

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        capture = self.ledger.capture
        objects = [one for one in given if isinstance(one, Thing) and not isinstance(one, (Container, Tensor))]
        for one in objects if capture is not None else ():
            if capture is not None and one.made_in is not capture and one is not callee:
                self.given[capture].setdefault(one, place)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """Note an array that takes the place of another one; what is no array may be looked at on the host alone."""
        captures = [one for one in self.ledger.latest.values() if owner in self.given.get(one, ())]
        if (
            not captures
            or not isinstance(owner, Thing)
            or not isinstance(before, Thing)
            or not isinstance(value, Thing)
        ):
            return
        if begin_alike(before, value) or not (self._is_array(before) or self._is_array(value)):
            return
        for capture in captures:
            self.exchanged[capture].setdefault((owner, name), (before, place))

    def _is_array(self, value: Thing) -> bool:
        if isinstance(value, Made):
            return value.cls in self.arrays
        return isinstance(value, Tensor) or value.is_array or not _OF_ARRAYS.isdisjoint(value.attributes)

    def replayed(self, capture: Capture, place: Place) -> None:
        for (owner, name), (before, where) in self.exchanged.pop(capture, {}).items():
            is_told = (owner, name) in capture.paths or (owner, name) in self.own[capture]
            if not is_told and owner.attributes.get(name) is not before:
                callee = _callee(self.given[capture][owner])
                self.tell(InputReplaced("", capture.region.line, False, given=callee), where, capture)


def _callee(place: Place) -> str:
    """What is called at a place, as it is written."""
    node = place.node
    return place.function.source(node.func) if isinstance(node, ir.Call) else place.text
