"""Tensors of a graph whose memory is exchanged, in place or by an assignment to `data`: the graph has the old one."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import InputReplaced
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Object, Place, Thing, is_tensor
from graphlint.static.life.record import Write

_MOVING = frozenset({"resize_", "set_"})


@dataclass
class Moved(Listener):
    """Follows one run."""

    tell: Tell
    places: dict[Thing, Place] = field(default_factory=dict)

    def written(self, write: Write) -> None:
        if write.method in _MOVING:
            self._note(write.target.root, write.place)

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        if name == "data" and self.ledger.capture is None and is_tensor(value) and value.root is not owner.root:
            self._note(owner.root, place)

    def _note(self, root: Thing, place: Place) -> None:
        if any(root in capture.reads or root in capture.writes for capture in self.ledger.latest.values()):
            self.places[root] = place

    def replayed(self, capture: Capture, place: Place) -> None:
        for root in [one for one in self.places if one in capture.reads or one in capture.writes]:
            event = InputReplaced("", capture.region.line, True, is_result=root not in capture.reads)
            self.tell(event, self.places.pop(root), capture)
