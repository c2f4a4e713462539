"""Pinned memory that a graph copies from or into, and that the host touches before the replay is over."""

from __future__ import annotations

from dataclasses import dataclass

from graphlint.rule import PinnedTouched
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Object, Place, Symbol, Tensor, Thing
from graphlint.static.life.record import Write
from graphlint.static.life.streams import Streams
from graphlint.static.syntax import ir


@dataclass
class Pinned(Listener):
    """Follows one run."""

    tell: Tell
    streams: Streams
    uploads: frozenset[str]

    def written(self, write: Write) -> None:
        root = write.target.root
        if not write.is_sure or not _is_pinned(root):
            return
        kinds = {_by_host(value) for value in write.values if value is not write.target}
        if kinds and None not in kinds:
            for capture in self._in_flight():
                if root in capture.reads:
                    self.tell(PinnedTouched("written", all(kinds)), write.place, capture)

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        root = thing.root
        node = place.node
        is_upload = isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in self.uploads
        if not _is_pinned(root) or is_upload:
            return
        for capture in self._in_flight():
            if root in capture.writes:
                self.tell(PinnedTouched("read", True), place, capture)

    def _in_flight(self) -> list[Capture]:
        """The captures with a replay that the host has not waited for."""
        launches, order = self.streams.launches, self.streams.order
        return [one for one, (stream, number) in launches.items() if order.host.get(stream, 0) < number]


def _is_pinned(root: Thing) -> bool:
    return isinstance(root, Tensor) and root.pinned


def _by_host(value: Object) -> bool | None:
    """Whether the host writes what a value holds: surely, perhaps, or not (None), since the device does."""
    if isinstance(value, (int, float, Symbol)):
        return True
    if isinstance(value, Tensor):
        return True if value.place == "host" else None
    return False if type(value) is Thing else None
