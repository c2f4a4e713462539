"""Which stream does what, and what each is known to come after: forks and joins in a capture, order around replays.

Every stream counts its operations, and knows of every other one up to which of its operations it has waited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from graphlint.rule import CaptureMisused, LooseEnd, OutsideDependency, WorkOutside
from graphlint.static.life.inputs import place_in
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Frame, Made, Object, Place, Tensor, Thing
from graphlint.static.life.order import Order, Stream
from graphlint.static.life.record import Call, Write
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in

DEFAULT = Thing()  # the default stream, on which a program begins
CAPTURING = Thing()  # the stream that torch captures on if it is given none
CALLERS = Thing()  # the stream of whoever calls a part of the program


@dataclass
class Branch:
    """The part of one capture that streams have: what takes part, and how many operations there were before."""

    origin: Stream
    before: dict[Stream, int]
    decided: int
    joined: set[Stream] = field(default_factory=set)
    rejoined: set[Stream] = field(default_factory=set)  # that some other stream has waited for
    outside: dict[Stream, Place] = field(default_factory=dict)  # work on streams that take no part
    is_guessed: bool = False  # whether something of which it is not known what it is has waited, or was waited for


@dataclass
class Streams(Listener):
    """Follows one run; `life` says what gives streams, and which of them."""

    tell: Tell
    life: Mapping[str, frozenset[str]]
    order: Order = field(default_factory=Order)
    current: list[Stream] = field(default_factory=list)
    aliases: dict[Thing, Stream] = field(default_factory=dict)
    recorded: dict[Thing, tuple[dict[Stream, int], Stream, Capture | None]] = field(default_factory=dict)
    branches: dict[Capture, Branch] = field(default_factory=dict)
    entered_by: dict[int, int] = field(default_factory=dict)  # streams on the stack before a manager was entered
    written_by: dict[Thing, tuple[Stream, int, Place]] = field(default_factory=dict)
    read_by: dict[Thing, tuple[Stream, int, Place]] = field(default_factory=dict)  # what graphs write
    launches: dict[Capture, tuple[Stream, int]] = field(default_factory=dict)
    handles: list[tuple[Capture, Thing, Place]] = field(default_factory=list)  # of collectives that nobody waits for
    told: set[tuple[str, Thing]] = field(default_factory=set)
    origins: dict[Capture, tuple[Stream, int]] = field(default_factory=dict)  # what captured it, and had done by then
    waiting: set[Capture] = field(default_factory=set)  # for events from before them
    misplaced: Capture | None = None  # ended while another stream was current

    # Which stream is current

    @property
    def now(self) -> Stream:
        """The current stream: one that nobody knows where a stranger calls a part of the program."""
        if self.current:
            return self.current[-1]
        return DEFAULT if self.ledger.is_whole else CALLERS

    def stream(self, value: Object) -> Stream | None:
        """The stream that a value stands for; None for what is none."""
        if value is None:
            return self.now
        return self.aliases.get(value, value) if isinstance(value, Thing) else None

    def surrounded(self, manager: Object, place: Place) -> None:
        depth = len(self.current)
        chosen = self._chosen(manager)
        if chosen is not None:
            self.current.append(chosen)
        self.entered_by[id(manager)] = depth

    def exited(self, manager: Object, place: Place) -> None:
        del self.current[self.entered_by.pop(id(manager), len(self.current)) :]

    def _chosen(self, manager: Object) -> Stream | None:
        """The stream that a context manager makes current."""
        call = self.ledger.origin(manager)
        if call is not None and call.name in self.life["selecting"]:
            value = call.given.get(0, "stream")
            return self.stream(value) if value is not None else None
        if isinstance(manager, Made) and manager.cls in self.life["streams"]:
            return self.stream(manager)
        return None

    # Captures

    def began(self, capture: Capture) -> None:
        if isinstance(capture.manager, Made):
            asked = capture.manager.given.get(2, capture.manager.given.get("stream"))
            origin = self.stream(asked) if asked is not None else CAPTURING
            self.order.wait_on_host()  # torch.cuda.graph does
            self.current.append(origin or CAPTURING)
        origin = self.now
        graph = capture.graph
        is_own = isinstance(graph, Made) and graph.cls in self.life["foreign"]  # a stream that captures by itself
        if origin is DEFAULT and not is_own and len(self.ledger.open) == 1 and not self.ledger.is_forced:
            self.tell(CaptureMisused("default"), capture.place, capture)
        self.branches[capture] = Branch(origin, self.order.counts(), self.ledger.decided, {origin})

    def ended(self, capture: Capture) -> None:
        branch = self.branches.pop(capture)
        self.origins[capture] = branch.origin, self.order.count(branch.origin)
        if isinstance(capture.manager, Made) and self.current:
            self.current.pop()
        elif self.now is not branch.origin and CALLERS not in (self.now, branch.origin):
            self.misplaced = capture
        for stream, place in branch.outside.items() if not branch.is_guessed else ():
            if stream is DEFAULT and _is_external(branch.origin):
                self.tell(OutsideDependency("legacy"), place, capture)
            else:
                self.tell(WorkOutside("default" if stream is DEFAULT else "side"), place, capture)
        for stream in branch.joined - {branch.origin, DEFAULT, CALLERS}:
            last = self.order.last(stream)
            if last is not None and self._is_loose(stream, branch):
                self.tell(LooseEnd("stream"), last, capture)
        is_guessed = self.ledger.decided > branch.decided
        for known, handle, place in self.handles:
            is_kept = handle in self.ledger.escaped or (is_guessed and _waits_somewhere(place))
            if known is capture and not is_kept:
                self.tell(LooseEnd("collective"), place, capture)
        self.handles.clear()

    def _is_loose(self, stream: Stream, branch: Branch) -> bool:
        """Whether a stream has work that nobody waits for; of an unknown loop, nobody knows the last round."""
        if self.order.count(stream) <= branch.before.get(stream, 0) or self.order.knows(branch.origin, stream):
            return False
        is_guessed = stream in branch.rejoined and self.ledger.decided > branch.decided
        is_handed_on = any(
            _is_handed_on(event, self.ledger.escaped) for event, one in self.recorded.items() if one[1] is stream
        )
        return stream not in self.ledger.escaped and not (is_guessed or is_handed_on or branch.is_guessed)

    @property
    def branch(self) -> Branch | None:
        capture = self.ledger.capture
        return self.branches.get(capture) if capture is not None else None

    # Work

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        stream, capture, branch = self.now, self.ledger.capture, self.branch
        if _orders(place.node):
            return
        if capture is not None and branch is not None:
            if stream not in branch.joined and self._is_known(stream) and stream not in self.ledger.escaped:
                branch.outside.setdefault(stream, place)
        elif capture is None:
            for thing in things:
                self._read(thing.root, stream, place)
        self.order.work(stream, place)

    def _is_known(self, stream: Stream) -> bool:
        """Whether it is known which stream this is: what others have made may be any, the capturing one too."""
        return stream in (DEFAULT, CAPTURING) or (isinstance(stream, Made) and not _is_external(stream))

    def _read(self, root: Thing, stream: Stream, place: Place) -> None:
        """An operation outside of a capture reads what a graph writes."""
        capture = root.made_in
        if capture is None:
            return
        self.read_by[root] = stream, self.order.count(stream) + 1, place
        launched = self.launches.get(capture)
        if launched is None or ("output", capture.graph) in self.told:
            return
        if not self._comes_after(stream, *launched):
            self.told.add(("output", capture.graph))
            self.tell(OutsideDependency("output"), place, capture)

    def written(self, write: Write) -> None:
        self.written_by[write.target.root] = self.now, self.order.count(self.now), write.place

    def replayed(self, capture: Capture, place: Place) -> None:
        stream = self.now
        self.order.work(stream, place)
        self.launches[capture] = stream, self.order.count(stream)
        for root, (reader, number, read_at) in [*self.read_by.items()] if capture not in self.waiting else ():
            if root.made_in is capture and not self._comes_after(stream, reader, number):
                del self.read_by[root]
                self.tell(OutsideDependency("overwritten"), read_at, capture)
        parts = (root for root, is_read in capture.in_part.items() if is_read)
        read = dict.fromkeys((*capture.reads, *capture.accumulates, *parts))
        for root in read if capture not in self.waiting else ():
            if root not in self.written_by:
                continue
            writer, number, written = self.written_by[root]
            if not self._comes_after(stream, writer, number) and ("input", root) not in self.told:
                self.told.add(("input", root))
                owner = capture.owner if isinstance(capture.owner, Frame) else None
                warmed = place_in(owner, written) if owner is not None else None
                self.tell(OutsideDependency("input"), warmed or written, capture)

    def _comes_after(self, stream: Stream, other: Stream, number: int) -> bool:
        """Whether a stream comes after an operation of another one, as far as nobody else may order these."""
        is_known = other is stream or self.order.knows(stream, other, number)
        return is_known or not self.ledger.escaped.isdisjoint({other, stream})

    # Calls

    def answered(self, call: Call) -> None:
        if isinstance(call.result, Made):
            self._named(call)
        is_early = bool(self.branches)  # a global that is asked for in a region is made before it
        if isinstance(call.result, Tensor) and call.owner is None and self.ledger.capture is None and not is_early:
            self.order.work(self.now, call.place)
            self.written_by[call.result] = self.now, self.order.count(self.now), call.place
        if self.misplaced is not None:
            self.tell(CaptureMisused("stream"), call.place, self.misplaced)
            self.misplaced = None
        act = _ACTS.get(call.last)
        if act is not None:
            act(self, call)

    def _named(self, call: Call) -> None:
        """Note which stream a call gives, and the handles of collectives."""
        if call.name in self.life["current"]:
            self.aliases[call.result] = self.now
        elif call.name in self.life["default"]:
            self.aliases[call.result] = DEFAULT
        capture = self.ledger.capture
        if capture is not None and call.given.keywords.get("async_op") is True:
            self.handles.append((capture, call.result, call.place))

    def _wait(self, call: Call) -> None:
        self.handles = [one for one in self.handles if one[1] is not call.owner]
        if isinstance(call.owner, Made) and call.owner in self.recorded:
            self._wait_event(self.stream(call.given.get(0, "stream")), call.owner, call.place)

    def _waits_for_event(self, call: Call) -> None:
        event = call.given.get(0, "event")
        if isinstance(event, Thing):
            self._wait_event(self.stream(call.owner), event, call.place)

    def _waits_for_stream(self, call: Call) -> None:
        waiting, other = self.stream(call.owner), self.stream(call.given.get(0, "stream"))
        if waiting is None or other is None or waiting is other:
            return
        if self.branch is not None and not (self._is_known(waiting) and self._is_known(other)):
            self.branch.is_guessed = self.branch.is_guessed or self.branch.origin not in (waiting, other)
        if self._draws_in(waiting, other, call.place, "stream"):
            self.order.wait(waiting, self.order.known(other))

    def _wait_event(self, waiting: Stream | None, event: Thing, place: Place) -> None:
        if waiting is None or event not in self.recorded:
            if self.branch is not None:
                self.branch.is_guessed = True
            return
        known, stream, capture = self.recorded[event]
        branch = self.branch
        is_external = isinstance(event, Made) and event.given.get("external") is True
        if branch is not None and waiting in branch.joined and capture is not self.ledger.capture:
            if self.ledger.capture is not None:
                self.waiting.add(self.ledger.capture)
                if not is_external:
                    self.tell(OutsideDependency("event"), place, self.ledger.capture)
            return
        if branch is None or capture is None or self._draws_in(waiting, stream, place, "event"):
            self.order.wait(waiting, known)

    def _draws_in(self, waiting: Stream, other: Stream, place: Place, how: str) -> bool:
        """Whether one stream may wait for another: in a capture, that takes it in if the other takes part."""
        branch, capture = self.branch, self.ledger.capture
        if branch is None or capture is None:
            return True
        if other in branch.joined and waiting is DEFAULT:
            self.tell(OutsideDependency("default"), place, capture)
            return False
        if waiting in branch.joined and other not in branch.joined and self._is_known(other):
            branch.outside.pop(other, None)
            self.tell(OutsideDependency(how), place, capture)
            return False
        if other in branch.joined:
            branch.joined.add(waiting)
            branch.rejoined.add(other)
        return True

    def _records(self, call: Call) -> None:
        """An event stands behind what a stream has done so far."""
        if call.last == "record_event":
            given = call.given.get(0, "event")
            event, stream = given if isinstance(given, Thing) else call.result, self.stream(call.owner)
        else:
            event, stream = call.owner, self.stream(call.given.get(0, "stream"))
        if isinstance(event, Thing) and stream is not None:
            self.recorded[event] = self.order.known(stream), stream, self.ledger.capture

    def _synchronizes(self, call: Call) -> None:
        if isinstance(call.owner, Thing) and call.owner in self.recorded:
            self.order.wait_on_host(self.recorded[call.owner][0])
        elif isinstance(call.owner, Made) and call.owner.cls in self.life["streams"]:
            stream = self.stream(call.owner)
            if stream is not None:
                self._tell_idle(stream, call.place)
            self.order.wait_on_host(self.order.known(stream) if stream is not None else None)
        else:
            self.order.wait_on_host()

    def _tell_idle(self, stream: Stream, place: Place) -> None:
        """The host waits for a stream that has done nothing but capture, while a replay runs on another one."""
        for capture, (launched, number) in self.launches.items() if self.ledger.capture is None else ():
            is_idle = self.origins.get(capture) == (stream, self.order.count(stream)) and launched is not stream
            if is_idle and not self.order.knows(stream, launched, number) and stream not in self.ledger.escaped:
                self.tell(OutsideDependency("host"), place, capture)

    def _reads_back(self, call: Call) -> None:
        """The host waits for the current stream."""
        self.order.wait_on_host(self.order.known(self.now))

    def _sets(self, call: Call) -> None:
        """`torch.cuda.set_stream`, or a context manager that is entered by hand."""
        chosen = self.stream(call.given.get(0, "stream")) if call.last == "set_stream" else self._chosen(call.owner)
        if chosen is not None:
            self.current[-1:] = [chosen] if self.current and call.last == "set_stream" else [*self.current[-1:], chosen]

    def _unsets(self, call: Call) -> None:
        if self._chosen(call.owner) is not None and self.current:
            self.current.pop()


READBACKS = frozenset({"cpu", "item", "tolist"})
_ACTS: dict[str, Callable[[Streams, Call], None]] = {
    "wait": Streams._wait,
    "wait_event": Streams._waits_for_event,
    "wait_stream": Streams._waits_for_stream,
    "record": Streams._records,
    "record_event": Streams._records,
    "synchronize": Streams._synchronizes,
    **dict.fromkeys(READBACKS, Streams._reads_back),
    "set_stream": Streams._sets,
    "__enter__": Streams._sets,
    "__exit__": Streams._unsets,
}


def _is_handed_on(event: Thing, escaped: set[Thing]) -> bool:
    """Whether somebody else got an event, or its handle, and may wait for it."""
    return event in escaped or any(one in escaped for one in event.attributes.values() if isinstance(one, Thing))


def _is_external(stream: Stream) -> bool:
    return isinstance(stream, Made) and stream.cls.endswith("ExternalStream")


def _orders(node: ir.Node) -> bool:
    """Whether a call gives a stream nothing to do but to wait."""
    name = node.func.attr if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) else ""
    return name in _ACTS and name not in READBACKS


def _waits_somewhere(place: Place) -> bool:
    """Whether a function waits for handles, maybe on another way, or in another round, than the one that was gone."""
    called = (call.func for call in calls_in(place.function.code))
    return any(isinstance(one, ir.Attribute) and one.attr == "wait" for one in called)
