"""Whether a side stream that reads what the caller's stream has written waits for that first, and that one for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import OutsideDependency
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Container, Made, Object, Place, Thing
from graphlint.static.life.order import Stream
from graphlint.static.life.record import Call, Write
from graphlint.static.life.streams import CALLERS, DEFAULT, Streams


@dataclass
class Forks(Listener):
    """Follows one run, up to a capture: who joins a stream to that of the caller wants it to be forked from there, too.

    What a function is given was written there, and a program that is run as a whole writes on the default stream;
    `streams` says which one is current.
    """

    tell: Tell
    streams: Streams
    chosen: dict[Stream, Place] = field(default_factory=dict)  # where side streams were made current last
    ordered: set[Stream] = field(default_factory=set)  # that have waited for something
    early: dict[Stream, Place] = field(default_factory=dict)  # that read what was given before they waited
    own: dict[Stream, Place] = field(default_factory=dict)  # that read what the program itself writes
    joined: list[Place] = field(default_factory=list)
    raced: dict[Thing, Place] = field(default_factory=dict)  # where what a side stream writes is used without a wait
    unjoined: dict[Thing, Place] = field(default_factory=dict)  # where that is written: of what is read, nobody may ask
    is_synchronized: bool = False  # the host has waited for the device

    def surrounded(self, manager: Object, place: Place) -> None:
        if self.streams.current:
            self.chosen[self.streams.current[-1]] = place

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        is_early = self.ledger.capture is None and not self.ledger.latest and self.streams.now is DEFAULT
        for thing in things if is_early and self.ledger.is_whole else ():
            writer, number, _ = self.streams.written_by.get(thing.root, (None, 0, None))
            is_side = writer in self.chosen and writer is not DEFAULT
            if is_side and writer is not None and not self.streams.order.knows(DEFAULT, writer, number):
                self.raced[thing.root] = place
        if any(thing.root.argument is not None and thing.root.made is None for thing in things):
            self._read()
        elif self.ledger.is_whole and any(map(self._is_unordered, things)):
            self._read(is_own=True)

    def written(self, write: Write) -> None:
        if self.raced.get(write.target.root) is write.place:
            self.unjoined.setdefault(write.target.root, write.place)

    def _is_unordered(self, thing: Thing) -> bool:
        """Whether the current stream reads what the default one may still be writing."""
        writer, number, _ = self.streams.written_by.get(thing.root, (None, 0, None))
        return writer is DEFAULT and not self.streams.order.knows(self.streams.now, writer, number)

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        if any(isinstance(value, Container) and value.is_open for value in given):  # `*args` of a caller
            self._read()

    def _read(self, is_own: bool = False) -> None:
        """Note that the current stream reads what the function was given, or what the program has written."""
        stream = self.streams.now
        has_waited = not is_own and (stream in self.ordered or self.is_synchronized)
        if isinstance(stream, Made) and stream in self.chosen and self.ledger.capture is None and not has_waited:
            (self.own if is_own else self.early).setdefault(stream, self.chosen[stream])

    def answered(self, call: Call) -> None:
        stream = self.streams.stream(call.owner) if call.owner is not None else None
        if call.last == "synchronize":
            self.is_synchronized = True
        elif call.last in ("wait_stream", "wait_event") and stream is not None:
            other = self.streams.stream(call.given.get(0, "stream"))
            known = self.early if stream is CALLERS else self.own if stream is DEFAULT else {}
            if other in known:
                self.joined.append(known.pop(other))
            self.ordered.add(stream)

    def began(self, capture: Capture) -> None:
        for place in self.joined:
            self.tell(OutsideDependency("fork"), place, capture)
        self.joined.clear()

    def ended(self, capture: Capture) -> None:
        """Tell of what a warm-up on a side stream may still be writing as the program sets it up for the capture."""
        for root in self.unjoined.keys() & {*capture.reads, *capture.writes}:
            self.tell(OutsideDependency("join"), self.unjoined.pop(root), capture)
