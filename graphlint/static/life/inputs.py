"""Whether what a graph reads has the data of the call: filled, whole, in the same memory, and alive.

Long, because one and the same record of writes answers each of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from graphlint.rule import InputFreed, InputReplaced, PartialFill
from graphlint.static.life.examples import leaves_rest
from graphlint.static.life.growth import directly_in
from graphlint.static.life.holders import held_now
from graphlint.static.life.hosts import number_given
from graphlint.static.life.ledger import Listener, Tell, tensors_in
from graphlint.static.life.objects import (
    Capture,
    Container,
    Frame,
    Instance,
    Object,
    Place,
    Symbol,
    Tensor,
    Thing,
    held_by,
    is_made_up,
    is_tensor,
    things_in,
)
from graphlint.static.life.picked import Picked
from graphlint.static.life.record import Call, Write
from graphlint.static.life.takers import may_be_kept
from graphlint.static.life.tensors import End, end_of, is_of_host, is_start, only_grows
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in, stands_before, walk

_RESETTING = frozenset({"fill_", "zero_"})


@dataclass
class Inputs(Listener):
    """Follows one run."""

    tell: Tell
    unfilled: frozenset[str]  # what makes tensors that hold nothing yet
    reducing: frozenset[str] = frozenset()  # methods that make one of all rows, if nothing else is asked for
    is_between: bool = False  # whether to tell of methods that may be called at any time: before the capture, too
    replaced: dict[Capture, list[tuple[object, str, Object, Place]]] = field(default_factory=dict)
    partial: list[tuple[Capture, Place, PartialFill]] = field(default_factory=list)  # filled in part, and where
    filled: dict[Capture, set[Thing]] = field(default_factory=dict)  # what it changes, and is given before each replay
    results: dict[Thing, tuple[InputReplaced, Place, Capture]] = field(default_factory=dict)  # in place of buffers
    uncut: set[Capture] = field(default_factory=set)  # whose outputs are read whole
    containers: dict[Container, None] = field(default_factory=dict)  # that attributes hold
    coupled: set[Capture] = field(default_factory=set)  # whose rows come together, whatever was done with each
    picked: Picked = field(default_factory=Picked)
    hollow: dict[Thing, Object] = field(default_factory=dict)  # what had nothing in it when it was given to a call

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """Note a call that is given nothing but tensors that hold nothing yet."""
        if self.ledger.capture is not None:
            func = place.node.func if isinstance(place.node, ir.Call) else None
            self._reduced(func.attr if isinstance(func, ir.Attribute) else "", given[0] if given else None)
            return
        roots: dict[Thing, Object] = {}
        for root in (one.root for value in given for one in things_in(value) if isinstance(one, Tensor)):
            if not self._is_unfilled(root) or self.ledger.writes.get(root):
                return
            roots[root] = callee
        self.hollow |= roots

    def answered(self, call: Call) -> None:
        self._reduced(call.last, call.given.get(0 if isinstance(call.owner, Thing) else 1, "dim"))

    def _reduced(self, name: str, extent: Object) -> None:
        """Note a region that makes one of all rows: `out.mean()`, `torch.sum(out, 0)`."""
        is_first = extent is None or (type(extent) is int and extent == 0)
        if self.ledger.capture is not None and name in self.reducing and is_first:
            self.coupled.add(self.ledger.capture)

    def ended(self, capture: Capture) -> None:
        """Tell of inputs that nothing had filled when the region ran before its capture."""
        for root in capture.reads:
            self._tell_hollow(root, capture)

    def _tell_hollow(self, root: Thing, capture: Capture, is_given: bool = False) -> None:
        if isinstance(root, Tensor) and root.made is not None and self.hollow.get(root) in capture.callees:
            self.tell(PartialFill("", False, False, is_unfilled=True, is_given=is_given), root.made, capture)

    def inputs(self, capture: Capture) -> list[Thing]:
        """The memory that a graph reads and that was there before it, of tensors that are no parameters.

        What is kept in one container with such a tensor belongs to them: unknown calls read more than they are given.
        """
        read = [root for root in capture.reads if is_tensor(root) and not _is_parameter(root)]
        beside: dict[Thing, None] = {}
        for container in self.containers:
            held = [value for value in container.values() if isinstance(value, Tensor)]
            if any(one in capture.reads for one in held):
                beside |= dict.fromkeys(one for one in held if one.base is None and one.made_in is None)
        return [*dict.fromkeys([*read, *(one for one in beside if one not in capture.writes)])]

    def replayed(self, capture: Capture, place: Place) -> None:
        last = capture.replays[-1] if capture.replays else capture.ended or 0
        self._tell_replaced(capture, last)
        since = {root: self.ledger.since(root, last) for root in self.inputs(capture)}
        self._note_partial(capture, since)
        given = {root for root in _states(capture) if self.ledger.since(root, last)}
        self.filled[capture] = self.filled.get(capture, given) & given
        for root, writes in since.items():
            is_alike = any(is_tensor(one) for one in root.source)  # made after data that was at hand, not of a size
            if is_alike and any(write.is_sure for write in writes):
                self._tell_hollow(root, capture, is_given=True)

    def _is_unfilled(self, root: Thing) -> bool:
        return isinstance(root, Tensor) and root.factory in self.unfilled

    # Replaced

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        if isinstance(value, Container) and value.kind == "dict":
            self.containers[value] = None
        for capture in self.ledger.latest.values():
            known = capture.paths.get((owner, name), before if _keeps(owner, before, capture) else None)
            if (
                known is None
                or not is_tensor(known)
                or not (known.root in capture.reads or capture.in_part.get(known.root) or _is_result(known, capture))
                or known.root.made_in is not None
                or _is_set_up(capture, owner, value, place)
            ):
                continue  # what another graph computes goes by the name of the latest one
            replaced = self.replaced.setdefault(capture, [])
            is_deleted = before is None and (owner, name) not in [one[:2] for one in replaced]
            if (known is before or is_deleted) and number_given(value, place, self.ledger.frames) is None:
                replaced.append((owner, name, known, place))

    def _is_gone(self, root: Thing) -> bool:
        """Whether nobody holds a tensor any more, so that a graph which writes to it does so to any memory."""
        held = held_now(self.ledger)
        return held is not None and root not in held and root not in self.ledger.escaped

    def _tell_replaced(self, capture: Capture, last: int) -> None:
        """Tell of attributes that the region read a tensor through and that hold another one now."""
        for owner, name, before, where in self.replaced.pop(capture, ()):
            now = held_by(owner, name)
            if self.is_between and is_made_up(before):
                continue  # which nobody but such a method may set
            if isinstance(capture.manager, Instance) and _may_stay(before, now, capture):
                continue
            if now is not before and is_tensor(now) and now.root is not before.root:
                if self.ledger.since(before.root, last) or (isinstance(owner, Frame) and _is_held(before, owner)):
                    continue  # it is filled under another name
                is_known = isinstance(before, Tensor) and isinstance(now, Tensor)
                event = InputReplaced(name, capture.region.line, is_known, is_result=_is_result(before, capture))
                if event.is_result and not self._is_gone(before.root):  # it matters who looks for it in the new one
                    self.results[now.root] = event, where, capture
                else:
                    self.tell(event, where, capture)

    # Filled in part

    def _ends_there(self, capture: Capture, root: Thing, written: End) -> bool:
        """Whether a graph reads as far as a write goes, as its bound or a graph for each length says."""
        reads = [end_of(view, place) for view, place in capture.views.items() if view.root is root]
        globals_ = (value for frame in self.ledger.frames[:1] if frame.caller for value in frame.caller.env.values())
        holders = (*(frame.receiver for frame in self.ledger.frames), *globals_)
        held = [one for holder in holders for one in things_in(holder) if isinstance(one, Container)]
        is_keyed = any(one.kind == "dict" and capture.graph in one.values() for one in held)
        picked = (keys for one, keys in self.ledger.guessed.items() if capture.graph in directly_in(one))
        asked, key = next(picked, (None, None))
        if asked is not None and written.value is asked:
            return bool(reads) and all(one is not None and one.value is key for one in reads)
        return bool(reads) and all(one is not None and one.is_same(written, is_keyed) for one in reads)

    def _note_partial(self, capture: Capture, since: dict[Thing, list[Write]]) -> None:
        """Note inputs that have been filled in part since the last replay, and in no other way."""
        values = [value for writes in since.values() for write in writes for value in write.values]
        for root, writes in since.items():
            if not writes or not all(write.is_sure and not write.is_whole for write in writes):
                continue
            if any(goes_to_the_end(write) or write.target in capture.views for write in writes):
                continue
            cuts = [(one, end) for one in writes if (end := end_of(one.target, one.place)) is not None]
            if not cuts or any(_has_tail(write, cuts[0][1].spelt) for write in writes):
                continue
            if any(self._ends_there(capture, root, end) for _, end in (cuts[0], cuts[-1])):
                continue  # what was written before, for another graph, is written over
            write, (bound, number, _) = cuts[0]
            filled = any(w.is_whole and not _leaves_undefined(w) for w in self.ledger.writes.get(root, ()))
            if self._is_unfilled(root) and root.made is not None and not capture.replays and not filled:
                event = PartialFill(bound, False, False, is_unfilled=True, is_by_row=not _is_inner(write))
                self.partial.append((capture, root.made, event))
            earlier = [one for one in self.ledger.writes[root] if not _is_reset(one)]
            if capture.replays and not only_grows(earlier, number):
                inner = _is_inner(write)
                is_left = leaves_rest(write, cuts[0][1]) or root in self.picked.by.get(capture, ())
                others_reset = inner and any(_is_reset(w) for other in since.values() for w in other)
                told = any(value is number for value in values) and number is not None
                by_row = not inner or others_reset  # lengths of zero behind the request bound what is read of a table
                event = PartialFill(bound, others_reset, False, told, is_rest_left=is_left, is_by_row=by_row)
                self.partial.append((capture, write.place, event))

    def read(self, thing: Thing, place: Place, is_sure: bool) -> None:
        self._used(thing)

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        for thing in tensors_in(value) if self.ledger.capture is None and self.ledger.latest else ():
            self._used(thing)

    def _used(self, thing: Thing) -> None:
        """Note that all of an output is used, of which replays compute every row."""
        if thing.root in self.results and self.ledger.capture is None:
            self.tell(*self.results.pop(thing.root))
        if is_tensor(thing) and thing.is_whole and self.ledger.capture is None:
            for capture in self.ledger.latest.values():
                root = thing.root
                is_output = root.made_in is capture or (root in capture.writes and root not in capture.reads)
                if is_output and capture.replays:
                    self.uncut.add(capture)

    # Alive

    def left(self, frame: Frame) -> None:
        for capture in self.ledger.captures if not self.ledger.is_given_up else ():
            if capture.owner is frame and capture.ended is not None and frame.way:
                self._freed(capture, frame)
        if frame.is_entry:
            self._settle()

    def _settle(self) -> None:
        """Tell of inputs that were filled in part, now that it is known how outputs are read.

        What an old row leaves in a state of the graph is not cut off; an input that is filled each time is no state.
        """
        for capture, place, event in self.partial:
            has_state = not self.filled.get(capture, set()).issuperset(_states(capture))
            is_cut = capture not in self.uncut and not has_state
            is_by_row = event.is_by_row and bool(capture.callees) and not has_state and capture not in self.coupled
            self.tell(replace(event, is_output_cut=is_cut, is_by_row=is_by_row), place, capture)
        self.partial.clear()

    def _freed(self, capture: Capture, frame: Frame) -> None:
        """Tell of inputs that were made in a call which is over, and that nobody holds any more."""
        alive = set(alive_after(frame))
        if capture.graph not in alive:
            return
        for root, place in capture.reads.items():
            if not isinstance(root, Tensor) or root.made is None or root in alive:
                continue
            was_given = root in self.ledger.escaped
            if was_given and (may_be_kept(self.ledger, root, capture) or _is_used_behind(root, capture, frame)):
                continue
            if root.made_in is not None and root.made_in.graph in alive:
                continue  # the pool of the graph that computes it keeps its memory
            if root.made.way == frame.way and root.made.function.code is frame.function.code:
                self.tell(InputFreed(root.made.line), place, capture)


def _keeps(owner: object, value: Object, capture: Capture) -> bool:
    """Whether what holds an input is a table, or keeps the graph as well, which read it by the name of a function."""
    if not isinstance(owner, Thing) or not is_tensor(value):
        return isinstance(owner, Container)
    holders = (one for (one, _), held in capture.paths.items() if held.root is value.root)
    is_beside = any(one is capture.graph for one in owner.attributes.values())
    return isinstance(owner, Container) or (is_beside and all(isinstance(one, Frame) for one in holders))


def _is_set_up(capture: Capture, owner: object, value: Object, place: Place) -> bool:
    """Whether the function that captures adds to a table what nobody knows, before anything is replayed."""
    is_own = place.function.code is capture.place.function.code
    return is_own and not capture.replays and isinstance(owner, Container) and type(value) is Thing


def _may_stay(before: Thing, now: Object, capture: Capture) -> bool:
    """Whether what an object holds at a capture is in no danger where it only may be what the graph reads.

    Data of the host is for plans; another buffer that was there is that of another graph; and of what a call gives
    that nobody knows, nobody knows either that it is another tensor.
    """
    if is_of_host(before.root):
        return True
    if not isinstance(now, Thing):
        return False
    return now.root in capture.reads or (not isinstance(now, Tensor) and now.argument is None)


def _is_used_behind(root: Thing, capture: Capture, frame: Frame) -> bool:
    """Whether the function that captures names a tensor behind its region: on another way it may keep it there."""
    names = {name for name, value in frame.env.items() if isinstance(value, Thing) and value.root is root}
    used = (one for one in walk(frame.function.code.body) if isinstance(one, ir.Name) and one.id in names)
    opened = next((one for one in walk(frame.function.code.body) if _opens(one, capture)), capture.place.node)
    inside = {id(one) for one in walk(opened)}
    return any(id(one) not in inside and stands_before(capture.place.node, one) for one in used)


def _opens(node: object, capture: Capture) -> bool:
    return isinstance(node, ir.With) and any(item[0] is capture.place.node for item in node.items)


def alive_after(frame: Frame, with_given: bool = True) -> Iterator[Thing]:
    """What somebody holds once a function is over: what it was given, too, if that is not made for the call."""
    held: list[Object] = [frame.receiver, *frame.results, *(frame.given if with_given else ())]
    for outer in frame.stack():
        if outer is not frame:
            held += [*outer.env.values(), outer.receiver]
    if frame.scope is not None:
        held += frame.scope.bound()
    for value in held:
        yield from things_in(value)


def _is_held(thing: Thing, frame: Frame) -> bool:
    """Whether something else than a name of the function holds a tensor."""
    held = (one for value in frame.env.values() if not isinstance(value, Tensor) for one in things_in(value))
    return any(one is thing.root for one in held)


def place_in(owner: Frame, where: Place) -> Place | None:
    """The place in the function that captures from which something was read: what it calls may have done that."""
    if where.function.code is owner.function.code:
        return where
    line = where.way[len(owner.way)].line if len(where.way) > len(owner.way) else 0
    calls = (call for call in calls_in(owner.function.code) if owner.function.line_of(call) == line)
    return next(map(owner.place, calls), None)


def _states(capture: Capture) -> list[Thing]:
    """The memory that a graph changes and reads, so that it holds what an earlier replay has left there."""
    return [*capture.accumulates, *(root for root, is_read in capture.in_part.items() if is_read)]


def _is_result(thing: Thing, capture: Capture) -> bool:
    """Whether a graph does nothing with a buffer that was there but write to it."""
    root = thing.root
    is_read = root in capture.reads or capture.in_part.get(root)
    return isinstance(root, Tensor) and root in capture.writes and not is_read


def _is_parameter(root: Thing) -> bool:
    return isinstance(root, Tensor) and root.factory.rpartition(".")[2] in ("Parameter", "Buffer")


def _is_reset(write: Write) -> bool:
    """Whether a write fills all of a tensor with a constant."""
    constant = all(not isinstance(value, (Thing, Symbol)) for value in write.values)
    return write.is_sure and write.is_whole and constant and write.method in _RESETTING


def goes_to_the_end(write: Write) -> bool:
    """Whether a write fills what lies behind a place: `buffer[n:].zero_()`."""
    index = write.target.index if isinstance(write.target, Tensor) else None
    parts = walk(index) if index is not None else ()
    return any(isinstance(p, ir.Slice) and p.bounds[0] is not None and p.bounds[1] is None for p in parts)


def _has_tail(write: Write, bound: str) -> bool:
    """Whether the function fills the rest on one of its ways: `if n < size: buffer[n:].zero_()`, or `[n:size]`."""
    index = next((part for part in walk(write.place.node) if isinstance(part, ir.Subscript)), None)
    if index is None:
        return False
    source = write.place.function.source
    spelt = source(index.value)
    for part in walk(write.place.function.code.body):
        if isinstance(part, ir.Subscript) and source(part.value) == spelt:
            starts = [one.bounds[:2] for one in walk(part.index) if isinstance(one, ir.Slice)]
            if any(
                lower is not None and not is_start(lower) and (upper is None or source(lower) == bound)
                for lower, upper in starts
            ):
                return True
    return False


def _is_inner(write: Write) -> bool:
    """Whether a write is cut short in more than the first extent, so that rows of this request keep an old end."""
    target: Thing | None = write.target
    cut = 0
    while isinstance(target, Tensor):
        for part in walk(target.index) if target.index is not None else ():
            cut += isinstance(part, ir.Slice) and part.bounds[1] is not None
        target = target.base
    return cut > 1


def _leaves_undefined(write: Write) -> bool:
    """Whether a write fills a tensor with what is no number."""
    return any(isinstance(value, float) and not math.isfinite(value) for value in write.values)
