"""Whether outputs of a graph are read after a replay and before the next one, and what replays leave behind.

Long, because an output is kept in several ways: it is returned, collected, left in a name, or added to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from graphlint.rule import GraphDropped, OutputKept, OutputRead, RepeatedState
from graphlint.static.life.forms import calls_method, kept_by, taken_by
from graphlint.static.life.ledger import Listener, Tell, tensors_in
from graphlint.static.life.objects import (
    Capture,
    Container,
    Frame,
    Made,
    Object,
    Place,
    Tensor,
    Thing,
    is_tensor,
    things_in,
)
from graphlint.static.life.record import Loop, Write
from graphlint.static.life.tensors import history
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk


@dataclass
class Outputs(Listener):
    """Follows one run."""

    tell: Tell
    replays: frozenset[str]
    posting: frozenset[str]  # methods that leave something for another task or thread
    posted: set[Container] = field(default_factory=set)  # what was left
    handed: list[tuple[Capture, Thing, Place]] = field(default_factory=list)  # outputs, where they were returned
    collections: list[tuple[Capture, Container, Thing, Place, tuple[Loop, ...]]] = field(default_factory=list)
    carried: dict[tuple[Frame, str], tuple[Capture, Object, Place, Loop, int]] = field(default_factory=dict)
    """What a local name was given behind a replay, in a round of a loop that has begun at a moment."""
    awaited: dict[tuple[Frame, str], tuple[Container, OutputKept, Place, Capture]] = field(default_factory=dict)
    """What a local name keeps that a replay has written over, told once it is used."""
    given_early: dict[Thing, Place] = field(default_factory=dict)  # outputs, where they were returned before a replay
    names: dict[tuple[Frame, str], tuple[Capture, Thing, Place, int]] = field(default_factory=dict)
    gone: set[Capture] = field(default_factory=set)  # whose graphs were dropped
    reads: dict[Thing, int] = field(default_factory=dict)  # when tensors were read last
    read_early: set[Capture] = field(default_factory=set)  # before a replay
    empty: dict[tuple[Thing, str, int], tuple[Thing, Place, Capture]] = field(default_factory=dict)
    """Reads of outputs before a replay, by what was read and where."""
    unused: dict[tuple[Thing, str, int], list[Frame]] = field(default_factory=dict)
    """The functions that threw away what such a read was for."""
    early: dict[Capture, Place] = field(default_factory=dict)  # replays in a loop of the function that captures
    guessed: list[ir.Node] = field(default_factory=list)
    """What gives a cache its value, if that was too small or not there, which nobody knows."""
    repeated: dict[Thing, tuple[Write, Place, Capture]] = field(default_factory=dict)
    """State that was reset before a capture, and replays that add to what is read of it."""
    unfed: dict[Capture, list[tuple[Capture, Place, Frame | None]]] = field(default_factory=dict)
    """Graphs that were replayed before this one, whose output they read: where, and in which call."""

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        self.reads[thing.root] = self.ledger.now
        captures = self._only_written_by(thing)
        if is_sure and captures and all(map(self._is_empty, captures)) and not self._is_guessed(thing.root):
            key = thing.root, place.path, place.line
            self.empty.setdefault(key, (thing, place, captures[0]))
            self.unused.setdefault(key, [one for one in self.ledger.frames if _throws_away(one)])

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        """A condition that nobody knows: if it asks for what it then gives a value."""
        taken = taken_by(self.ledger.frames[-1].statement, place.node, outcome) if not is_known else ()
        kept, source = [*kept_by(taken)], place.function.source
        asked = {source(one) for one in walk(place.node) if isinstance(one, ir.Expr)} if kept else ()
        made = tuple(value for target, value in kept if source(target) in asked)
        self.guessed += [part for part in walk(made) if isinstance(part, ir.Node)]

    def _is_guessed(self, root: Thing) -> bool:
        """Whether a tensor may have been made before: another run finds it made."""
        return root.made is not None and any(one is root.made.node for one in self.guessed)

    def ended(self, capture: Capture) -> None:
        """What a capture reads at the same place, or for nothing, as the run before it, that has warmed it up."""
        for root, place in capture.reads.items():
            self.empty.pop((root, place.path, place.line), None)
            for key in [key for key in self.empty if key[0] is root and capture.owner in self.unused.get(key, ())]:
                del self.empty[key]

    def finished(self) -> None:
        for thing, place, capture in self.empty.values():
            if capture not in self.read_early:
                self.read_early.add(capture)
                self.tell(OutputRead(isinstance(thing.root, Tensor)), self.given_early.get(thing, place), capture)
        self._tell_repeated()

    def dropped(self, capture: Capture, place: Place) -> None:
        if isinstance(place.node, ir.Call) or capture.graph not in self._held():
            self.gone.add(capture)

    def _held(self) -> Iterator[Thing]:
        """What the names of the functions that run lead to, and the memory of it."""
        named = (value for frame in self.ledger.frames for value in (*frame.bound(), frame.receiver))
        values = {id(value): value for value in named}  # what is handed on has a name in each function
        return (held for value in values.values() for one in things_in(value) for held in (one, one.root))

    def _lost(self, capture: Capture) -> None:
        """Tell of outputs of other graphs that this one reads, and that went with their graphs."""
        if _has_pool(capture):
            return
        of_gone = [root for root in capture.reads if root.made_in in self.gone and root not in self.ledger.escaped]
        for root in set(of_gone).difference(self._held()) if of_gone else ():
            self.tell(GraphDropped(), capture.reads[root], capture)

    def _output_of(self, thing: Object) -> Capture | None:
        """The capture that a tensor is an output of."""
        if self.ledger.capture is not None or not is_tensor(thing):
            return None
        capture: Capture | None = thing.root.made_in
        return capture if capture is not None and capture.ended is not None else None

    def _written_by(self, thing: Object) -> Capture | None:
        """The capture that a tensor is an output of, also where the region writes it to a buffer that was there."""
        if self.ledger.capture is not None or not is_tensor(thing):
            return None
        return self._output_of(thing) or next(iter(self._buffered_by(thing.root)), None)

    def _buffered_by(self, root: Thing) -> list[Capture]:
        """The captures whose regions write to a tensor that was there before."""
        return [one for one in self.ledger.latest.values() if root in one.writes and root not in one.reads]

    def _only_written_by(self, thing: Thing) -> list[Capture]:
        """The captures that write a tensor which nothing else has filled; to one that was there, any of them may."""
        made = self._output_of(thing)
        is_filled = self.ledger.capture is not None or not is_tensor(thing) or self.ledger.writes.get(thing.root)
        return [made] if made is not None else [] if is_filled else self._buffered_by(thing.root)

    def _is_empty(self, capture: Capture) -> bool:
        """Whether a graph has surely not been replayed."""
        return not capture.replays and not capture.may_be_replayed

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        for thing in tensors_in(value):
            capture = self._written_by(thing)
            if capture is None or capture.graph in things_in(value):
                continue  # who gets the graph knows whose outputs these are
            if capture.replays:
                self.handed.append((capture, thing, place))
                # Whoever called may keep it: a part looks like a tensor of its own. Outputs as they are, all return.
                is_part = isinstance(thing, Tensor) and thing.base is not None
                if is_part and frame.is_entry and not self.ledger.is_whole:
                    self.tell(OutputKept("returned", False), thing.made or place, capture)
            elif (
                self._output_of(thing) is not None
                and self._is_empty(capture)
                and calls_method(frame.function.code, self.replays)
            ):
                self.given_early.setdefault(thing, place)
                self.tell(OutputRead(isinstance(thing.root, Tensor), is_returned=True), place, capture)

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        """Tell of an operation that is given the results of two calls, each behind a replay, which are one output."""
        if len(things) < 2 or self.ledger.capture is not None or len(_calls_given(place.node)) < 2:
            return
        for thing in {one for one in things if sum(other is one for other in things) > 1}:
            given = [one for one in self.handed if one[1] is thing]
            if len(given) > 1 and len(given[-1][0].replays) > 1:
                capture, _, where = given[-1]
                self.tell(OutputKept("returned", True, isinstance(thing.root, Tensor)), where, capture)

    # Kept

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        for thing in tensors_in(value):
            capture = self._written_by(thing)
            if capture is not None and capture.replays:
                self.collections.append((capture, container, thing, place, tuple(self.ledger.loops)))

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note outputs that are left for whoever takes them later: `future.set_result(out)`, `queue.put(out)`."""
        func = place.node.func if isinstance(place.node, ir.Call) else None
        if isinstance(func, ir.Attribute) and func.attr in self.posting:
            left = Container(place, elements=given)
            self.posted.add(left)
            self.collected(left, None, left, place)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """Forget a container that nothing leads to any more; note a graph of which that may be so."""
        if value is None:
            self.ledger.dropped(before, place)
        if any(container is before for _, container, *_ in self.collections):
            held = (one for frame in self.ledger.frames for value in frame.env.values() for one in things_in(value))
            if all(one is not before for one in held):
                self.collections = [kept for kept in self.collections if kept[1] is not before]

    def named(self, name: str, value: Object, frame: Frame) -> None:
        self.names.pop((frame, name), None)
        self.carried.pop((frame, name), None)
        match frame.statement:
            case Place(node=ir.Assign(value=ir.Call())):  # others may name it before each replay, to read it then
                capture = self._written_by(value)
                where = self._returned_at(value) if capture is not None else None
                if capture is not None and where is not None:
                    self.names[frame, name] = (capture, value, where, self.ledger.now)
                    return
        if frame.statement is not None and self.ledger.loops:
            self._carry(name, value, frame, frame.statement)

    def _carry(self, name: str, value: Object, frame: Frame, place: Place) -> None:
        """Note an output that a round of a loop leaves in a name behind its replay."""
        if any(container is value for _, container, *_ in self.collections):  # which is told of there
            return
        parts = tensors_in(value) if isinstance(value, Container) else [value]
        written = [found for part in parts if (found := self._written_by(part)) is not None]
        loops = [one for one in self.ledger.loops if one.place.function.code is frame.function.code]
        pairs = ((made, loop) for loop in reversed(loops) for made in written if _is_since(made, loop.began))
        made, loop = next(pairs, (None, None))
        if made is not None and loop is not None:
            self.carried[frame, name] = (made, value, place, loop, self.ledger.now)

    def loaded(self, name: str, frame: Frame) -> None:
        waiting = self.awaited.pop((frame, name), None)
        if waiting is not None and frame.env.get(name) is waiting[0]:
            self.tell(*waiting[1:])
        if (frame, name) in self.carried:
            self._carried_on(frame, name)
        known = self.names.get((frame, name))
        if known is not None and frame.env.get(name) is known[1]:
            capture, value, where, moment = known
            if capture.replays and capture.replays[-1] > moment:
                self.tell(OutputKept("returned", True, isinstance(value.root, Tensor)), where, capture)

    def _carried_on(self, frame: Frame, name: str) -> None:
        """Tell of an output that a round of a loop has left in a name, and that is read behind the next replay: in
        another round, or behind the loop.
        """
        capture, value, place, loop, moment = self.carried[frame, name]
        goes_on = loop in self.ledger.loops
        is_later = loop.began >= moment and _is_since(capture, loop.began) if goes_on else _is_since(capture, moment)
        if frame.env.get(name) is value and is_later:
            del self.carried[frame, name]
            self.tell(OutputKept("collected", True, is_known=False), place, capture)

    def _returned_at(self, value: Object) -> Place | None:
        return next((place for _, thing, place in reversed(self.handed) if thing is value), None)

    def replayed(self, capture: Capture, place: Place) -> None:
        self._overwritten(capture)
        self._repeated(capture, place)
        self._lost(capture)
        self._unfed(capture, place)

    def _overwritten(self, capture: Capture) -> None:
        """Tell of outputs that somebody has kept since an earlier replay, and that this one writes over."""
        for kept in [one for one in self.collections if one[0] is capture or one[2].root in capture.writes]:
            _, container, value, place, loops = kept
            is_made = any(loop.place.node is place.node for loop in self.ledger.loops)  # by a comprehension that runs
            is_there = is_made or container in self.posted or self._is_alive(container)
            is_repeated = is_there and (not loops or any(loop in self.ledger.loops for loop in loops))
            if is_repeated and any(held is value for held in tensors_in(container)):
                name = self._only_named(container)
                # A list that is made anew in each round may be meant to show what this replay writes.
                is_anew = name is not None and isinstance(place.node, ir.Comprehension)
                is_known = isinstance(value.root, Tensor) and not is_anew
                told = OutputKept("collected", True, is_known), self._returned_at(value) or place, capture
                if name is None:
                    self.tell(*told)
                else:
                    self.awaited[name] = (container, *told)
            self.collections.remove(kept)

    def _only_named(self, container: Container) -> tuple[Frame, str] | None:
        """The local name of a function that runs which alone leads to a container, if one does."""
        named = [
            (frame, name) for frame in self.ledger.frames for name, value in frame.env.items() if value is container
        ]
        others = (v for frame in self.ledger.frames for v in (*frame.bound(), frame.receiver) if v is not container)
        is_kept = container in self.posted or any(one is container for value in others for one in things_in(value))
        return named[0] if len(named) == 1 and not is_kept else None

    def _is_alive(self, container: Container) -> bool:
        """Whether a function that runs, or its object, leads to a container: a dict that a call gave may be gone."""
        held = (value for frame in self.ledger.frames for value in (*frame.bound(), frame.receiver))
        return any(one is container for value in held for one in things_in(value))

    def _unfed(self, capture: Capture, place: Place) -> None:
        """Tell of a graph that is replayed before another one whose output it reads, in one and the same call."""
        entry = next((frame for frame in reversed(self.ledger.frames) if frame.is_entry), None)
        for reader, where, known in self.unfed.pop(capture, ()):
            if known is entry:
                self.tell(OutputRead(is_known=True, is_input=True), where, reader)
        read = {root.made_in for root in capture.reads} if not capture.replays else set()
        for source in self.ledger.latest.values():
            is_earlier = source.ended is not None and source.ended < capture.began  # and not in its capture
            if source in read and is_earlier and self._is_empty(source):
                self.unfed.setdefault(source, []).append((capture, place, entry))

    # State

    def _repeated(self, capture: Capture, place: Place) -> None:
        """Tell of replays that change state which nobody resets between them."""
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        states = [root for root in capture.accumulates if isinstance(root, Tensor)]
        changed = any(self.ledger.since(root, last) for root in states)
        is_own = isinstance(capture.owner, Frame) and place.function.code is capture.owner.function.code
        if changed or not states:
            self.early.pop(capture, None)
        elif is_own and self.ledger.loops and isinstance(capture.owner, Frame) and capture.owner.way:
            self.early.setdefault(capture, place)
        elif not is_own and capture in self.early:
            self.tell(RepeatedState(True), self.early.pop(capture), capture)
        if changed or not capture.replays or capture in self.early:
            return
        recent = [one for one, moment in self.reads.items() if moment >= capture.replays[-1]]
        for root in states:
            before = [write for write in self.ledger.writes.get(root, ()) if write.moment < capture.began]
            is_reset = bool(before) and _is_reset(before[-1])
            if is_reset and any(one is root or (one.made_in is capture and root in history(one)) for one in recent):
                self.repeated.setdefault(root, (before[-1], place, capture))

    def _tell_repeated(self) -> None:
        """Tell of state that was reset before a capture, unless that is done again, at the start of each sequence.

        A method that does nothing else is there for that, as far as a stranger may call it.
        """
        for root, (write, place, capture) in self.repeated.items():
            code, owner = write.place.function.code, capture.owner
            capturing = [one.function.code for one in owner.stack()] if isinstance(owner, Frame) else []
            is_own = not self.ledger.is_whole and code not in capturing and code.name != "__init__"
            if not is_own and not any(map(_is_reset, self.ledger.since(root, capture.ended or 0))):
                self.tell(RepeatedState(False), place, capture)


def _calls_given(node: ir.Node) -> list[ir.Call]:
    """The calls that an operation is given the results of, also in a list."""
    match node:
        case ir.Binary(left=left, right=right):
            given = [left, right]
        case ir.Call(arguments=arguments):
            given = [one.value for one in arguments]
        case _:
            given = []
    listed = (element for one in given if isinstance(one, ir.Display) for element in one.elements)
    return [one for one in (*given, *listed) if isinstance(one, ir.Call)]


def _throws_away(frame: Frame) -> bool:
    """Whether a statement runs that does nothing with a result."""
    return frame.statement is not None and isinstance(frame.statement.node, ir.Evaluate)


def _has_pool(capture: Capture) -> bool:
    """Whether a capture is given a pool, which may be that of another graph."""
    given = capture.manager.given if isinstance(capture.manager, Made) else {}
    return given.get(1, given.get("pool")) is not None


def _is_reset(write: Write) -> bool:
    return write.is_sure and write.is_whole and write.method == "zero_"


def _is_since(capture: Capture, moment: int) -> bool:
    """Whether a graph was replayed after a moment."""
    return bool(capture.replays) and capture.replays[-1] >= moment
