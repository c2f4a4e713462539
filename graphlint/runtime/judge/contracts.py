"""Captures and what runs between their replays in; what each graph depends on and what it changes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from types import FrameType, ModuleType

import torch

from graphlint.contract import Buffer, Contract, HostValue, Output, Refresh, Use, Workspace, distinct
from graphlint.runtime.compare.holders import Scope
from graphlint.runtime.compare.reach import Walk, names_in
from graphlint.runtime.judge.workspaces import Given, Workspaces
from graphlint.runtime.trace.capture import Capture, CapturedOperator, External, Internal
from graphlint.runtime.trace.frames import MISSING, as_written, local, running
from graphlint.runtime.trace.host_values import SCALARS
from graphlint.runtime.trace.operators import Call, storage_key
from graphlint.runtime.trace.places import caller_stack, is_user_code, shown
from graphlint.runtime.trace.values import dtype_name
from graphlint.runtime.watch.watch import Watch

_LIMIT = 20_000  # objects, the nearest ones: an eighth of a second
_LONG = 60  # of a value's text, in characters
_DEFAULT = "the default stream"

Line = tuple[str, int, str]  # the path and line of a write, and its stream


@dataclass
class Draft:
    """What is known so far of a graph: names of memory, what lies there as a parameter, and who wrote it when.

    It is `of` what a target captures, if no line of the program does. `written` are the lines that wrote a buffer since
    the last replay, `refreshes` those before replays, with their number, `counts` the replays before which somebody
    wrote it.
    """

    capture: Capture
    buffers: dict[int, External]  # what is there when it ends, or its pool
    of: str = ""
    names: dict[int, str] = field(default_factory=dict)
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)  # of the tensors with those names
    weights: set[int] = field(default_factory=set)
    arguments: set[int] = field(default_factory=set)
    outputs: tuple[Output, ...] = ()  # when it is replayed for the first time
    makers: dict[int, Draft] = field(default_factory=dict)  # of memory that lies in the pool of a living graph
    lent: set[int] = field(default_factory=set)  # memory of its own pool that later graphs use
    replayed: set[Line] = field(default_factory=set)  # for the last time
    written: dict[int, set[Line]] = field(default_factory=dict)
    refreshes: dict[int, Counter[Line]] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)


class Contracts:
    """Follows the graphs of a program, and who writes to what they use."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.workspaces = Workspaces(watch)
        self._drafts: dict[int, Draft] = {}
        self._users: dict[int, list[Draft]] = {}  # of memory that graphs use
        # Memory of graphs, by storage and by address, since the storages over that of a tree change.
        self._made: dict[int, tuple[Draft, Internal]] = {}
        self._streams: dict[int, str] = {0: _DEFAULT}
        watch.ended.append(self._ended)
        watch.replaying.append(self._replaying)
        watch.recorder.eager.append(self._ran)

    def _ended(self, capture: Capture) -> None:
        if not capture.is_healthy or capture.refusals:
            return
        found = ((key, one, self._maker(key, one)) for key, one in capture.externals.items())
        there = {key: (one, maker) for key, one, maker in found if maker is not None or not one.storage.expired()}
        buffers = {key: one for key, (one, _) in there.items()}
        draft = self._drafts[id(capture)] = Draft(capture, buffers)
        self._name(draft)
        for key, (_, maker) in there.items():
            self._users.setdefault(key, []).append(draft)
            if maker is not None:
                draft.makers[key] = maker
                maker.lent.add(key)
                if maker.replayed:
                    draft.written[key] = {*maker.replayed}
        for key, internal in draft.capture.internals.items():
            self._made |= dict.fromkeys(filter(None, (key, internal.address)), (draft, internal))

    def _maker(self, key: int, external: External) -> Draft | None:
        """Of which living graph memory is: its pool keeps that on a device, and on the emulator what somebody holds."""
        for where in filter(self._made.__contains__, (key, external.address)):
            draft, internal = self._made[where]
            is_kept = self.watch.driver.is_real or not internal.storage.expired()
            if is_kept and self.watch.is_alive(draft.capture):
                return draft
        return None

    def _name(self, draft: Draft) -> None:
        """Find the names that lead to memory of the graph, from where the program is."""
        target = self.watch.roots  # what is captured, where no line of the program does it, and its arguments
        draft.of = target[0][0] if target else ""
        made = {storage_key(tensor) for reference in draft.capture.made if (tensor := reference()) is not None}
        sought = (draft.buffers.keys() | made) - draft.names.keys()
        with self.watch.paused():
            walk = Walk(target or _roots(running()), _LIMIT, sought)
            given = {storage_key(one) for one in Walk(target[1:], _LIMIT).tensors}
        for tensor in walk.tensors:
            key = storage_key(tensor)
            if key in draft.buffers or key in draft.capture.internals:
                if draft.names.setdefault(key, name := walk.names[id(tensor)]) == name:
                    draft.shapes.setdefault(key, tuple(tensor.shape))
                if isinstance(tensor, torch.nn.Parameter):
                    draft.weights.add(key)
        draft.arguments |= given & draft.buffers.keys()

    def _ran(self, call: Call, _result: object) -> None:
        """An operator ran outside of every capture."""
        for tensor in call.written():
            if (key := storage_key(tensor)) in self._users:
                stack = caller_stack()
                place = (stack[0].path, stack[0].line) if stack else ("?", 0)
                self._note(key, self._line(*place))

    def _line(self, path: str, line: int) -> Line:
        stream = torch.cuda.current_stream().cuda_stream
        return path, line, self._streams.setdefault(stream, f"stream {len(self._streams)}")

    def _note(self, key: int, line: Line, besides: Draft | None = None) -> None:
        for draft in self._users[key]:
            if draft is not besides:
                draft.written.setdefault(key, set()).add(line)

    def _replaying(self, capture: Capture) -> None:
        draft = self._drafts.get(id(capture))
        if draft is None:
            return
        if not capture.replays:
            self._name(draft)  # what had no name while it was captured may have one by now
            draft.outputs = tuple(_outputs(draft))
        for key, lines in draft.written.items():
            draft.counts[key] += 1
            draft.refreshes.setdefault(key, Counter()).update(lines)
        draft.written.clear()
        line = self._line(capture.region.path, capture.region.line)
        draft.replayed = {line}
        for key in draft.lent.union(key for key, external in draft.buffers.items() if external.is_written):
            self._note(key, line, besides=draft)

    def made(self) -> tuple[Contract, ...]:
        """What is known of every graph, in order of capture."""
        found: list[Contract] = []
        pools: dict[object, list[str]] = {}
        names = distinct(draft.of or _function(draft.capture) for draft in self._drafts.values())
        known = dict(zip(self._drafts, names, strict=True))
        for key, draft in self._drafts.items():
            same_pool = pools.setdefault(draft.capture.pool or known[key], [])
            given = {} if draft.of else self.workspaces.given.get(key, {})  # the stream is no choice of a target
            workspaces = tuple(_workspaces(draft.capture, given.values(), known))
            found.append(_contract(draft, known, tuple(same_pool), workspaces))
            same_pool.append(known[key])
        return tuple(found)


Names = Mapping[int, str]  # of graphs, by the identity of their captures


def _contract(draft: Draft, names: Names, shares: tuple[str, ...], workspaces: tuple[Workspace, ...]) -> Contract:
    capture = draft.capture
    return Contract(
        name=names[id(capture)],
        path=capture.region.path,
        line=capture.region.line,
        nodes=len(capture.nodes),
        replays=capture.replays,
        buffers=tuple(_buffer(draft, key, external, names) for key, external in draft.buffers.items()),
        values=tuple(_values(capture)),
        outputs=draft.outputs,
        draws=capture.draws,
        shares=shares,
        workspaces=workspaces,
    )


def _workspaces(capture: Capture, given: Iterable[Given], names: Names) -> Iterator[Workspace]:
    """What the graph is given that does not lie in its own pool; the streams of a capture have one each."""
    others = [one for one in given if one.maker is None or one.maker.pool != capture.pool]
    for one, name in zip(others, distinct(one.name for one in others), strict=True):
        operation = capture.operations[one.operation]
        yield Workspace(name, names.get(id(one.maker), ""), *_place(capture, operation), operation.operator)


def _place(capture: Capture, operation: CapturedOperator) -> tuple[str, int]:
    """The path and the line of an operation, else of what is captured."""
    place = next(iter((*operation.stack, *capture.stack)), None)
    return (place.path, place.line) if place else ("?", 0)


def _roots(frames: Iterable[FrameType]) -> Iterator[tuple[str, object]]:
    """What the running functions of the program can name."""
    for frame in frames:
        code = as_written(frame.f_code)
        if not is_user_code(code.co_filename):
            continue
        is_module = frame.f_locals is frame.f_globals
        names = frame.f_globals if is_module else (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        for name in tuple(names):
            value = local(frame, name)
            if value is not MISSING and name[:2] != "__" and not isinstance(value, ModuleType):
                yield name, value
        yield "", Scope(frame.f_globals, frozenset(names_in(code)))


def _function(capture: Capture) -> str:
    """The function that captures, without the module that it was loaded as, behind the name of its file."""
    function = capture.stack[0].function.partition(":")[2] if capture.stack else ""
    return ":".join(filter(None, (Path(capture.region.path).name, function)))


def _buffer(draft: Draft, key: int, external: External, names: Names) -> Buffer:
    capture = draft.capture
    maker = names[id(draft.makers[key].capture)] if key in draft.makers else ""
    count = draft.counts[key]
    refreshed = "none" if not count else "all" if count == capture.replays else "some"
    if key in draft.weights:
        kind = "weight"
    elif maker:
        kind = "another graph's"
    elif external.is_written:
        kind = "state"
    else:
        kind = "argument" if key in draft.arguments else "input" if count else "constant"
    lines = draft.refreshes.get(key, Counter())
    return Buffer(
        name=draft.names.get(key, ""),
        kind=kind,
        dtype=dtype_name(external.dtype),
        shape=draft.shapes.get(key, external.shape),
        size=external.size,
        is_host=external.is_host,
        access=" and ".join(compress(("read", "written"), (external.reads, external.writes))),
        refreshed=refreshed,
        maker=maker,
        uses=tuple(dict.fromkeys(_uses(capture, external))),
        refreshes=tuple(Refresh(*line, replays) for line, replays in sorted(lines.items())),
    )


def _uses(capture: Capture, external: External) -> Iterator[Use]:
    """The lines that use a buffer, in order."""
    for number in sorted({*external.reads, *external.writes}):
        operation = capture.operations[number]
        access = compress(("reads", "writes"), (number in external.reads, number in external.writes))
        yield Use(*_place(capture, operation), operation.operator, " and ".join(access))


def _values(capture: Capture) -> Iterator[HostValue]:
    """The numbers and texts that lines of the region read, each once for a function."""
    seen = set()
    for binding in capture.bindings.found.values():
        name, function = shown(binding.span), binding.place.function
        if binding.access.how != "read" or set(binding.entered) != {""} or (name, function) in seen:
            continue
        value = binding.entered[""]
        if isinstance(value, SCALARS):
            seen.add((name, function))
            text = repr(value)
            text = text if len(text) <= _LONG else f"{text[:_LONG]}…"
            yield HostValue(name, function.partition(":")[2] or function, text, binding.place.path, binding.access.line)


def _outputs(draft: Draft) -> Iterator[Output]:
    """Tensors in memory of the graph that somebody still holds, one for each piece of memory."""
    seen = set()
    for reference in draft.capture.made:
        tensor = reference()
        key = storage_key(tensor) if tensor is not None else 0
        if tensor is not None and key in draft.capture.internals and key not in seen:
            seen.add(key)
            yield Output(draft.names.get(key, ""), dtype_name(tensor.dtype), tuple(tensor.shape), tensor.nbytes)
