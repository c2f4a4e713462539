"""Pinned memory that a graph copies from or into, and that the host touches before the replay is over."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import PinnedTouched
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Object, Place, Symbol, Tensor, Thing
from graphlint.static.life.order import Stream
from graphlint.static.life.record import Write
from graphlint.static.life.streams import Streams
from graphlint.static.syntax import ir


@dataclass
class Pinned(Listener):
    """Follows one run."""

    tell: Tell
    streams: Streams
    uploads: frozenset[str]
    under_way: dict[Thing, tuple[Stream, int, Thing, Frame | None]] = field(default_factory=dict)
    """Copies to the device out of pinned memory: the stream, how much it had to do by then, the target, the call."""

    def written(self, write: Write) -> None:
        root = write.target.root
        if not write.is_sure or not _is_pinned(root):
            self._uploaded(write)
            return
        kinds = {_by_host(value) for value in write.values if value is not write.target}
        if kinds and None not in kinds:
            for capture in self._in_flight():
                if root in capture.reads or self._is_under_way(root, capture):
                    self.tell(PinnedTouched("written", all(kinds)), write.place, capture)

    def _uploaded(self, write: Write) -> None:
        """Note a copy of pinned memory, for which nobody waits, into what a graph reads."""
        sources = [one.root for one in write.values if isinstance(one, Thing) and _is_pinned(one.root)]
        if sources and _is_asynchronous(write.place.node):
            stream = self.streams.now
            entry = next((one for one in reversed(self.ledger.frames) if one.is_entry), None)
            under_way = stream, self.streams.order.count(stream), write.target.root, entry
            self.under_way |= dict.fromkeys(sources, under_way)

    def _is_under_way(self, root: Thing, capture: Capture) -> bool:
        """Whether such a copy may not be over yet; who calls may wait between two calls."""
        stream, number, target, entry = self.under_way.get(root, (None, 0, root, None))
        is_over = stream is None or self.streams.order.host.get(stream, 0) >= number
        return not is_over and target in capture.reads and entry in self.ledger.frames

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


def _is_asynchronous(node: ir.Node) -> bool:
    """Whether a call asks not to be waited for."""
    given = node.arguments if isinstance(node, ir.Call) else ()
    return any(
        one.keyword == "non_blocking" and isinstance(one.value, ir.Literal) and one.value.value is True for one in given
    )


def _is_pinned(root: Thing) -> bool:
    return isinstance(root, Tensor) and root.pinned


def _by_host(value: Object) -> bool | None:
    """Whether the host writes what a value holds: surely, perhaps, or not (None), since the device does."""
    if isinstance(value, (int, float, Symbol)):
        return True
    if isinstance(value, Tensor):
        return True if value.place == "host" else None
    return False if type(value) is Thing else None
