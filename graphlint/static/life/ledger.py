"""What happens to graphs and tensors in a rehearsed run, moment by moment: who reads, writes, binds and keeps what.

Whoever wants to know registers a listener: `inputs`, `outputs` and those beside them ask what a graph needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from graphlint.rule import Event
from graphlint.static.life.frames import Raised, Stopped
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    Container,
    Frame,
    Instance,
    Made,
    Object,
    Place,
    Thing,
    is_tensor,
    things_in,
)
from graphlint.static.life.record import Call, Loop, Write
from graphlint.static.syntax import ir

Tell: TypeAlias = Callable[[Event, Place, Capture], None]  # what is told of a place around a region


class Listener:
    """What can be listened to; nothing is answered."""

    ledger: Ledger
    hooks: ClassVar[tuple[Callable[..., None], ...]]  # at which it does something

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        hooks = {name: hook for name, hook in vars(Listener).items() if not name.startswith("_") and callable(hook)}
        cls.hooks = tuple(hook for name, hook in hooks.items() if getattr(cls, name) is not hook)

    def answered(self, call: Call) -> None:
        """Something outside of the project has been called."""

    def worked(self, things: tuple[Thing, ...], place: Place) -> None:
        """An operation reads tensors, or writes to the first of them, in a capture or outside."""

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        """A module, or what wraps a callable, has been called."""

    def configured(self, name: str, value: Object, place: Place) -> None:
        """A setting of a library is given a value."""

    def surrounded(self, manager: Object, place: Place) -> None:
        """A context manager is entered."""

    def exited(self, manager: Object, place: Place) -> None:
        """A context manager is left."""

    def raised(self, frame: Frame) -> None:
        """An exception has been caught in a function, or leaves it."""

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        """A condition has come out in a capture; what nobody knows was decided."""

    def looked(self, owner: Thing | Frame, name: str) -> None:
        """An attribute, a key or a local name is read."""

    def replayed_inside(self, graph: Thing, place: Place) -> None:
        """A graph is replayed while a capture is under way."""

    def finished(self) -> None:
        """The run is over."""

    def began(self, capture: Capture) -> None:
        """A capture has begun."""

    def ended(self, capture: Capture) -> None:
        """A capture has ended."""

    def replayed(self, capture: Capture, place: Place) -> None:
        """A graph is replayed; `capture.replays` has the replays before."""

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        """Something outside of a capture reads a tensor; what an unknown call does with it is not sure."""

    def written(self, write: Write) -> None:
        """Something outside of a capture writes to a tensor."""

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        """An attribute is assigned, inside of a capture or outside."""

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Something is called that nobody knows."""

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        """An attribute, a key or a local name is given another value outside of a capture."""

    def deleted(self, owner: object, name: str, before: Object, place: Place) -> None:
        """An attribute, a key or a local name is deleted outside of a capture."""

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        """A function gives a value to its caller."""

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        """A value is added to a container; the key is None in a list."""

    def dropped(self, capture: Capture, place: Place) -> None:
        """A graph is reset, or its name is deleted."""

    def named(self, name: str, value: Object, frame: Frame) -> None:
        """A local name is given a value."""

    def loaded(self, name: str, frame: Frame) -> None:
        """A local name is used."""

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        """A method is called that training calls: of a loss, an optimizer or a module."""

    def entered(self, frame: Frame) -> None:
        """A function begins."""

    def left(self, frame: Frame) -> None:
        """A function is over."""


@dataclass
class Ledger:
    """The record of one run."""

    now: int = 0
    captures: list[Capture] = field(default_factory=list)
    open: list[Capture] = field(default_factory=list)
    latest: dict[Thing, Capture] = field(default_factory=dict)  # of each graph
    writes: dict[Thing, list[Write]] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    escaped: set[Thing] = field(default_factory=set)  # what an unknown call was given, which may keep it
    guessed: dict[Thing, tuple[Object, Object]] = field(default_factory=dict)  # items: the key asked for, and theirs
    is_whole: bool = False  # it began with a file, so that nobody else can have called anything before
    decided: int = 0  # conditions that nobody knew
    is_forced: bool = False  # what runs was called past the conditions that lead to it
    is_given_up: bool = False  # it has ended before its functions did
    is_cut: bool = False  # it leaves out rounds of a loop, or its end
    hearing: defaultdict[Callable[..., None], list[Listener]] = field(default_factory=lambda: defaultdict(list))
    global_of: Callable[..., Object] = field(init=False)  # what a name of a module holds
    origins: dict[int, Call] = field(default_factory=dict)  # the calls that gave objects, by their identity

    def listen(self, listener: Listener) -> None:
        listener.ledger = self
        for hook in listener.hooks:
            self.hearing[hook].append(listener)

    @property
    def capture(self) -> Capture | None:
        """The capture that is under way."""
        return self.open[-1] if self.open else None

    @contextmanager
    def loop(self, place: Place) -> Iterator[Loop]:
        self.loops.append(Loop(place))
        try:
            yield self.loops[-1]
        finally:
            self.loops.pop()

    @contextmanager
    def activation(self, frame: Frame) -> Iterator[None]:
        self.is_whole = self.is_whole or frame.function.qualname == "<module>"
        self.frames.append(frame)
        for listener in self.hearing[Listener.entered]:
            listener.entered(frame)
        try:
            yield
        except Stopped:
            self.is_given_up = True
            raise
        except Raised:
            for listener in self.hearing[Listener.raised]:
                listener.raised(frame)
            raise
        finally:
            for listener in self.hearing[Listener.left]:
                listener.left(frame)
            self.frames.pop()

    # Calls

    def answered(self, call: Call) -> None:
        self.origins[id(call.result)] = call
        for listener in self.hearing[Listener.answered]:
            listener.answered(call)

    def origin(self, value: Object) -> Call | None:
        """The call outside of the project that gave an object."""
        return self.origins.get(id(value)) if value is not None and not isinstance(value, (bool, int, str)) else None

    @contextmanager
    def surrounded(self, manager: Object, place: Place) -> Iterator[None]:
        for listener in self.hearing[Listener.surrounded]:
            listener.surrounded(manager, place)
        try:
            yield
        finally:
            for listener in self.hearing[Listener.exited]:
                listener.exited(manager, place)

    def configured(self, name: str, value: Object, place: Place) -> None:
        for listener in self.hearing[Listener.configured]:
            listener.configured(name, value, place)

    # Captures and replays

    def begin(self, capture: Capture) -> None:
        self.open.append(capture)
        self.captures.append(capture)
        for listener in self.hearing[Listener.began]:
            listener.began(capture)

    def end(self) -> None:
        if self.open:
            capture = self.open.pop()
            self.now += 1
            capture.ended = self.now
            self.latest[capture.graph] = capture
            for listener in self.hearing[Listener.ended]:
                listener.ended(capture)

    def replay(self, graph: Thing, place: Place) -> None:
        capture = self.latest.get(graph)
        if capture is not None and self.capture is None:
            self.now += 1
            for listener in self.hearing[Listener.replayed]:
                listener.replayed(capture, place)
            capture.replays.append(self.now)
        elif self.capture is not None:
            for listener in self.hearing[Listener.replayed_inside]:
                listener.replayed_inside(graph, place)

    def graphs_behind(self, value: Object) -> list[Thing]:
        """The graphs that an executable one was made of."""
        seen: dict[Thing, None] = {}
        pending = [value]
        while pending:
            one = pending.pop()
            if isinstance(one, Thing) and one not in seen:
                seen[one] = None
                pending += one.source
        return [one for one in seen if one in self.latest]

    # Memory

    def read(self, value: Object, place: Place, is_sure: bool = True) -> None:
        """A value, or what a container holds, is read by an operation."""
        things = tuple(tensors_in(value))
        self._worked(things, place)
        for thing in things:
            root, capture = thing.root, self.capture
            if capture is None:
                for listener in self.hearing[Listener.read]:
                    listener.read(thing, place, is_sure)
            elif root.made_in is not capture and root not in capture.writes:
                capture.reads.setdefault(root, place)
                capture.views.setdefault(thing, place)
                capture.sure |= {root} if is_sure else set()
            elif root in capture.in_part:
                capture.in_part[root] = True

    def wrote(self, target: Thing, values: Iterable[Object], place: Place) -> None:
        """An operation writes to a tensor, out of these values."""
        values = tuple(values)
        root, capture = target.root, self.capture
        sources = {thing.root for value in values for thing in tensors_in(value)}
        self._worked((target,), place)
        self.read([value for value in values if value is not target], place)
        if capture is None:
            write = Write(self.now, place, target, values)
            self.writes.setdefault(root, []).append(write)
            for listener in self.hearing[Listener.written]:
                listener.written(write)
        elif root.made_in is not capture:
            if root not in capture.writes and (root in capture.reads or root in sources):
                capture.accumulates.setdefault(root, place)
            capture.writes.setdefault(root, place)
            if place.picks or not target.is_whole:
                capture.in_part.setdefault(root, False)

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        for listener in self.hearing[Listener.tested] if self.capture is not None else ():
            listener.tested(place, outcome, is_known)

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        for listener in self.hearing[Listener.called]:
            listener.called(callee, given, place)

    def may_write(self, values: Iterable[Object], place: Place, by: Object = None) -> None:
        """An unknown call may write to what it is given, keep it, and replay the graphs among it."""
        if self.capture is not None and isinstance(by, Thing):
            self.capture.callees.add(by)
        for value in values:
            for thing in things_in(value):
                self.escaped.add(thing)
                if is_tensor(thing):
                    self.writes.setdefault(thing.root, []).append(Write(self.now, place, thing, is_sure=False, by=by))
                if thing in self.latest:
                    self.latest[thing].may_be_replayed = True

    def since(self, root: Thing, moment: int) -> list[Write]:
        """The writes to memory since a moment."""
        return [write for write in self.writes.get(root, ()) if write.moment >= moment]

    # Names

    def bound(self, owner: Thing | Frame, name: str, before: Object, value: Object, place: Place) -> None:
        if isinstance(owner, Thing):
            for listener in self.hearing[Listener.assigned]:
                listener.assigned(owner, name, value, place)
        if self.capture is None and before is not value:
            for listener in self.hearing[Listener.rebound]:
                listener.rebound(owner, name, before, value, place)

    def deleted(self, owner: Thing | Frame, name: str, before: Object, place: Place) -> None:
        self.dropped(before, place)
        if self.capture is None and before is not None:
            for listener in self.hearing[Listener.deleted]:
                listener.deleted(owner, name, before, place)

    def through(self, owner: Thing | Frame, name: str, value: Object) -> None:
        """A value is read through an attribute, a key or a local name."""
        for listener in self.hearing[Listener.looked]:
            listener.looked(owner, name)
        if (capture := self.capture) is None or not is_tensor(value) or value.root.made_in is capture:
            return  # which is most of them
        if not isinstance(owner, Thing) or owner.made_in is not capture:
            capture.paths.setdefault((owner, name), value)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        for listener in self.hearing[Listener.collected]:
            listener.collected(container, key, value, place)

    def named(self, name: str, value: Object, frame: Frame) -> None:
        if self.latest and self.capture is None:
            for listener in self.hearing[Listener.named]:
                listener.named(name, value, frame)

    def loaded(self, name: str, frame: Frame) -> None:
        if self.latest:
            for listener in self.hearing[Listener.loaded]:
                listener.loaded(name, frame)

    def dropped(self, value: Object, place: Place) -> None:
        if self.capture is None and isinstance(value, Thing) and value in self.latest:
            for listener in self.hearing[Listener.dropped]:
                listener.dropped(self.latest[value], place)

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        for listener in self.hearing[Listener.trained]:
            listener.trained(owner, name, given, place)

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        for listener in self.hearing[Listener.returned]:
            listener.returned(value, place, frame)

    def ran_module(self, module: Thing, given: Iterable[Object], place: Place) -> None:
        self.read(list(given), place)
        if self.capture is not None:
            self.capture.modules.setdefault(module, place)

    def ran(self, module: Thing, given: Iterable[Object], result: Object, place: Place) -> Object:
        for listener in self.hearing[Listener.ran]:
            listener.ran(module, tuple(given), result, place)
        return result

    def handled(self, handlers: tuple[ir.Handler, ...], frame: Frame) -> None:
        for listener in self.hearing[Listener.raised]:
            listener.raised(frame)

    def finish(self) -> None:
        for listener in self.hearing[Listener.finished]:
            listener.finished()

    def _worked(self, things: tuple[Thing, ...], place: Place) -> None:
        for listener in self.hearing[Listener.worked] if things else ():
            listener.worked(things, place)


def tensors_in(value: Object, seen: set[int] | None = None) -> Iterator[Thing]:
    """What may be a tensor in a value and the containers in it, each of which is looked through once."""
    if isinstance(value, (Container, list)):
        seen = set() if seen is None else seen
        if id(value) not in seen:
            seen.add(id(value))
            for held in value.values() if isinstance(value, Container) else value:
                yield from tensors_in(held, seen)
    elif isinstance(value, Thing) and not isinstance(value, (Instance, Made)) and value.presumed is None:
        yield value
