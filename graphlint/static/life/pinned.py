"""Pinned memory that a graph copies from or into, and that the host touches before the replay is over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import PinnedTouched
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Object, Place, Symbol, Tensor, Thing
from graphlint.static.life.order import Stream
from graphlint.static.life.record import Call, Write
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
    fetched: dict[Thing, tuple[Stream, int, Capture, Frame | None]] = field(default_factory=dict)
    """Copies to the host of what a graph gives: the stream, how much it had to do by then, the graph, the call."""

    def written(self, write: Write) -> None:
        root = write.target.root
        if not write.is_sure or not _is_pinned(root):
            self._uploaded(write)
            return
        self._fetched(root, write.values, write.place)
        kinds = {_by_host(value) for value in write.values if value is not write.target}
        if kinds and None not in kinds:
            for capture in self._in_flight():
                if root in capture.reads or self._is_under_way(root, capture):
                    self.tell(PinnedTouched("written", all(kinds)), write.place, capture)

    def _uploaded(self, write: Write) -> None:
        """Note a copy of pinned memory, for which nobody waits, into what a graph reads."""
        sources = [one.root for one in write.values if isinstance(one, Thing) and _is_pinned(one.root)]
        if sources and _is_asynchronous(write.place.node):
            stream, number = self._so_far()
            self.under_way |= dict.fromkeys(sources, (stream, number, write.target.root, self._entry()))

    def _so_far(self) -> tuple[Stream, int]:
        """The current stream, and how much it has had to do."""
        return self.streams.now, self.streams.order.count(self.streams.now)

    def _entry(self) -> Frame | None:
        """The call that is under way of somebody whom nobody sees; the run itself, where it is all of a program."""
        if self.ledger.is_whole:
            return self.ledger.frames[0]
        return next((one for one in reversed(self.ledger.frames) if one.is_entry), None)

    def answered(self, call: Call) -> None:
        """Note a copy of an output to new memory of the host, which torch pins where nobody is to wait."""
        if call.last == "to" and call.given.get(0, "device") == "cpu" and isinstance(call.result, Thing):
            self._fetched(call.result, (call.owner,), call.place)

    def _fetched(self, root: Thing, values: Iterable[Object], place: Place) -> None:
        """Note a copy to the host of what a replay has given, for which nobody waits."""
        self.fetched.pop(root, None)
        capture = next((one for value in values for one in self._given_by(value)), None)
        if capture is not None and self.ledger.capture is None and _is_asynchronous(place.node):
            self.fetched[root] = *self._so_far(), capture, self._entry()

    def _given_by(self, value: Object) -> Iterator[Capture]:
        """The graphs with a replay that gave a value, or what it was computed from."""
        pending, seen = [value], set[Thing]()
        while pending:
            one = pending.pop()
            if not isinstance(one, Thing) or one in seen:
                continue
            seen.add(one)
            pending += [*one.source, one.root]
            yield from (capture for capture in self.streams.launches if _gives(capture, one))

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        if not given or not all(isinstance(one, str) for one in given):  # a text is noted, and nobody waits for that
            self.fetched.clear()  # what nobody knows may wait

    def _is_under_way(self, root: Thing, capture: Capture) -> bool:
        """Whether such a copy may not be over yet; who calls may wait between two calls."""
        stream, number, target, entry = self.under_way.get(root, (None, 0, root, None))
        is_over = stream is None or self.streams.order.host.get(stream, 0) >= number
        return not is_over and target in capture.reads and entry in self.ledger.frames

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        root = thing.root
        node = place.node
        is_upload = isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in self.uploads
        iterated = [one.root for one in thing.source if thing.made is None]
        for one in (root, *iterated) if not is_upload else ():
            if one in self.fetched:
                self._read_early(*self.fetched.pop(one), place)
        if not _is_pinned(root) or is_upload:
            return
        for capture in self._in_flight():
            if root in capture.writes:
                self.tell(PinnedTouched("read", True), place, capture)

    def _read_early(self, stream: Stream, number: int, capture: Capture, entry: Frame | None, place: Place) -> None:
        """Tell of a copy that may not be over yet where the host reads; who calls may wait between two calls."""
        if self.streams.order.host.get(stream, 0) < number and entry in self.ledger.frames:
            self.tell(PinnedTouched("fetched", False), place, capture)

    def _in_flight(self) -> list[Capture]:
        """The captures with a replay that the host has not waited for."""
        launches, order = self.streams.launches, self.streams.order
        return [one for one, (stream, number) in launches.items() if order.host.get(stream, 0) < number]


def _gives(capture: Capture, value: Thing) -> bool:
    return value.made_in is capture or (value in capture.writes and value not in capture.reads)


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
