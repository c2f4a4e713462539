"""What a graph needs of the code around it, asked of the record of a run: events for the detectors of rules.

A graph reads and writes fixed addresses. So before each replay its inputs are filled, in place and whole; its outputs
are read after a replay and before the next; what it was captured with lives as long as it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.rule import Event, InputFreed, InputReplaced, OutputKept, OutputRead, PartialFill, StaleReplay
from graphlint.static.life.frames import Frame
from graphlint.static.life.ledger import Listener, Write
from graphlint.static.life.objects import (
    Capture,
    Closure,
    Container,
    Instance,
    Made,
    Object,
    Place,
    Tensor,
    Thing,
    is_tensor,
    things_in,
)
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

Tell = Callable[[Event, Place, Capture], None]


@dataclass
class Contract(Listener):
    """Follows one run."""

    tell: Tell
    replays: frozenset[str]
    replaced: dict[Capture, list[tuple[Thing, str, Object, Place]]] = field(default_factory=dict)
    moved: dict[Thing, Place] = field(default_factory=dict)
    handed: list[tuple[Capture, Thing, Place, int]] = field(default_factory=list)  # outputs, where they were returned
    collections: list[tuple[Capture, Container, Thing, Place, int]] = field(default_factory=list)
    partial: list[tuple[Capture, Write, bool, int]] = field(default_factory=list)
    uncut: set[Capture] = field(default_factory=set)  # whose outputs are read whole
    entries: list[tuple[Frame, int]] = field(default_factory=list)

    # Inputs

    def inputs(self, capture: Capture) -> list[Thing]:
        """The memory that a graph reads and that was there before it, of tensors that are no parameters."""
        return [root for root in capture.reads if is_tensor(root) and not _is_parameter(root)]

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        self._replaced(capture)
        self._overwritten(capture, last)
        self._partial(capture, last)
        self._stale(capture, place, last)

    def _replaced(self, capture: Capture) -> None:
        """Tell of attributes that the region read a tensor through and that hold another one now."""
        for owner, name, before, where in self.replaced.pop(capture, ()):
            now = owner.attributes.get(name)
            if now is before or not is_tensor(now):
                continue
            is_known = isinstance(before, Tensor) and isinstance(now, Tensor)
            self.tell(InputReplaced(name, capture.region.line, is_known), where, capture)
        for root in capture.reads:
            if root in self.moved:
                self.tell(InputReplaced("", capture.region.line, True), self.moved.pop(root), capture)

    def rebound(self, owner: Thing, name: str, before: Object, value: Object, place: Place) -> None:
        for capture in self.ledger.latest.values():
            known = capture.paths.get((owner, name))
            if known is not None and known is before and capture.ended is not None:
                if is_tensor(known) and known.root in capture.reads:
                    self.replaced.setdefault(capture, []).append((owner, name, before, place))

    def written(self, write: Write) -> None:
        node = write.place.node
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attribute) and node.func.attr in _MOVING:
            if any(write.target.root in c.reads for c in self.ledger.latest.values()):
                self.moved[write.target.root] = write.place

    def _partial(self, capture: Capture, last: int) -> None:
        """Note inputs that have been filled in part since the last replay, and in no other way."""
        inputs = self.inputs(capture)
        since = {root: self.ledger.since(root, last) for root in inputs}
        others_reset = any(_resets(writes) for writes in since.values())
        is_first = not capture.replays
        for writes in since.values():
            if writes and all(write.is_sure and not write.is_whole for write in writes):
                cut = next((w for w in writes if _is_cut_short(w)), None)
                if cut is not None and not is_first:
                    self.partial.append((capture, cut, others_reset, self.ledger.now))

    def _stale(self, capture: Capture, place: Place, last: int) -> None:
        """Tell of a replay that nobody has given new data, though something was at hand that never got there."""
        inputs = self.inputs(capture)
        if not inputs or not capture.replays or any(self.ledger.since(root, last) for root in inputs):
            return
        if capture.facts.get("may be replayed"):
            return
        frame = self.entries[-1][0] if self.entries else None
        if frame is None:
            return
        unused = [p.name for p in frame.function.code.parameters if _is_data(p) and not _mentions(frame, p.name)]
        if unused and place.function.code is frame.function.code:
            self.tell(StaleReplay(tuple(unused)), place, capture)

    # Outputs

    def read(self, thing: Thing, place: Place) -> None:
        capture = self._output_of(thing)
        if capture is None:
            return
        if not capture.replays and not capture.facts.get("may be replayed") and capture.graph in self.ledger.latest:
            self.tell(OutputRead(isinstance(thing.root, Tensor)), place, capture)
        if thing.is_whole:
            self.uncut.add(capture)

    def _output_of(self, thing: Thing) -> Capture | None:
        """The capture that a tensor is an output of."""
        capture = thing.root.made_in
        return capture if capture is not None and capture.ended is not None and self.ledger.capture is None else None

    def collected(self, container: Container, value: Object, place: Place) -> None:
        capture = self._output_of(value) if isinstance(value, Thing) and is_tensor(value) else None
        if capture is not None and capture.replays:
            self.collections.append((capture, container, value, place, self.ledger.now))

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        if self.ledger.capture is not None:
            return
        found = _outputs_in(value)
        for thing in found:
            capture = self._output_of(thing)
            if capture is not None and capture.replays:
                self.handed.append((capture, thing, place, self.ledger.now))
                if thing.is_whole:
                    self.uncut.add(capture)
            elif capture is not None and self._has_replay(frame) and capture.graph not in things_in(value):
                if not capture.facts.get("may be replayed"):
                    self.tell(OutputRead(isinstance(thing.root, Tensor)), place, capture)

    def _has_replay(self, frame: Frame) -> bool:
        """Whether a function replays a graph on one of its ways."""
        calls = (part for part in walk(frame.function.code.body) if isinstance(part, ir.Call))
        return any(isinstance(c.func, ir.Attribute) and c.func.attr in self.replays for c in calls)

    def _overwritten(self, capture: Capture, last: int) -> None:
        """Tell of outputs that somebody has kept since an earlier replay, and that this one writes over."""
        for kept in [one for one in self.collections if one[0] is capture]:
            _, container, value, place, moment = kept
            if any(held is value for held in container.values()):
                origin = next((w for c, t, w, m in reversed(self.handed) if t is value and c is capture), place)
                self.tell(OutputKept("collected", True), origin, capture)
            self.collections.remove(kept)

    # Activations

    def entered(self, frame: Frame) -> None:
        if len(self.ledger.frames) == 1 or (len(self.ledger.frames) == 2 and not self.ledger.frames[0].way):
            self.entries.append((frame, self.ledger.now))

    def left(self, frame: Frame) -> None:
        for capture in [c for c in self.ledger.captures if c.owner is frame and c.ended is not None]:
            self._freed(capture, frame)
        if self.entries and self.entries[-1][0] is frame:
            self.entries.pop()
            self._settle()

    def _settle(self) -> None:
        """Tell of inputs that were filled in part, now that it is known how outputs are read."""
        for capture, write, others_reset, _ in self.partial:
            bound = _bound(write)
            self.tell(PartialFill(bound, others_reset, capture not in self.uncut), write.place, capture)
        self.partial.clear()

    def _freed(self, capture: Capture, frame: Frame) -> None:
        """Tell of inputs that were made in a call which is over, and that nobody holds any more."""
        alive = set(self._alive(frame))
        if capture.graph not in alive:
            return
        for root, place in capture.reads.items():
            if not isinstance(root, Tensor) or root.made is None or root in alive or root in self.ledger.escaped:
                continue
            way = root.made.way
            inside = len(way) >= len(frame.way) and way[: len(frame.way)] == frame.way and frame.way
            if inside and root.made.function.code is frame.function.code:
                self.tell(InputFreed(root.made.line), place, capture)

    def _alive(self, frame: Frame) -> Iterator[Thing]:
        """What somebody holds once a function is over."""
        held: list[Object] = [frame.receiver, *frame.results, *frame.given]
        outer = frame.caller
        while outer is not None:
            held += [*outer.env.values(), outer.receiver]
            outer = outer.caller
        if frame.scope is not None:
            held += frame.scope.bound()
        for name in frame.declared:
            held.append(frame.env.get(name))
        for value in held:
            yield from things_in(value)


_MOVING = frozenset({"resize_", "set_"})
_RESETTING = frozenset({"fill_", "zero_"})


def _is_parameter(root: Thing) -> bool:
    return isinstance(root, Tensor) and root.factory.rpartition(".")[2] in ("Parameter", "Buffer")


def _resets(writes: list[Write]) -> bool:
    """Whether one of these writes fills all of it with one value."""
    return any(
        write.is_sure
        and write.is_whole
        and isinstance(write.place.node, ir.Call)
        and isinstance(write.place.node.func, ir.Attribute)
        and write.place.node.func.attr in _RESETTING
        for write in writes
    )


def _is_cut_short(write: Write) -> bool:
    """Whether a write ends where a name says, so that it may be shorter than the one before."""
    return _bound(write) is not None


def _bound(write: Write) -> str | None:
    """The name that says where a write ends: `n` in `buffer[:n].copy_(x)`."""
    target: Thing | None = write.target
    while isinstance(target, Tensor):
        for part in walk(target.index) if target.index is not None else ():
            if isinstance(part, ir.Slice):
                upper = part.bounds[1]
                if upper is not None and not isinstance(upper, ir.Literal) and part.bounds[0] is None:
                    return write.place.function.source(upper)
        target = target.base
    return None


def _outputs_in(value: Object) -> Iterator[Thing]:
    """The tensors that a value is, or that a tuple, list or dict of it holds."""
    if isinstance(value, Container):
        for held in value.values():
            yield from _outputs_in(held)
    elif is_tensor(value):
        yield value


def _is_data(parameter: ir.Parameter) -> bool:
    return parameter.kind == "positional" and parameter.default is None and parameter.name not in ("self", "cls")


def _mentions(frame: Frame, name: str) -> bool:
    """Whether a function speaks of one of its parameters at all."""
    return name in frame.function.code.loads
