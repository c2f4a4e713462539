"""What is written to static inputs between replays in; inputs that a replay finds as they were, or in part, out."""

from __future__ import annotations

import inspect
import itertools
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from graphlint.runtime.trace.capture import Capture, Tell, Trouble
from graphlint.runtime.trace.extents import Extent, common, count, covered, joined, without
from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.operators import Call, storage_key, tensors
from graphlint.runtime.trace.places import Stack, is_user_code, user_stack
from graphlint.runtime.watch.openings import COMPILED

Write = tuple[Extent, ...]
_ALL: Write = ((0, sys.maxsize),)
# Threads that Inductor and a bar of progress leave running, by the module of what they run.
_WRITES_NOTHING = ("torch._inductor.", "tqdm.")
# Tensors at hand where a graph is replayed: by code and name. One that is gone may lie where the next one does.
Variables = dict[tuple[object, str], "weakref.ref[torch.Tensor]"]


@dataclass(slots=True)
class Refreshed:
    """What was written to a static input since the last replay, and what ever was, from its start on."""

    stack: Stack = ()
    written: set[Write] = field(default_factory=set)
    reached: list[Extent] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Rest:
    """The bytes of a static input that the line which wrote to it for a replay left as they were."""

    key: int
    stack: Stack
    extents: list[Extent]


@dataclass(slots=True)
class Replayed:
    """What is known of a graph's requests since its last replay.

    `offered` are tensors that could have been a request, `is_fed` says that it ever got one, and `is_astray` that one
    was written to a copy of an input. `left_out` wrote, for an earlier replay, to an input that the last one kept, and
    `unfed` is the last replay, where something was offered and nothing ever written. `rests` were not written for it.
    `seed` is that of the generator of the device.
    """

    offered: Variables = field(default_factory=dict)
    is_fed: bool = False
    is_astray: bool = False
    left_out: Stack = ()
    unfed: Stack = ()
    rests: list[Rest] = field(default_factory=list)
    seed: int | None = None


class Inputs:
    """Follows what is written to the memory that graphs read."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.touched: set[int] = set()  # memory that graphs use and that was written since
        self._inputs: dict[int, dict[int, tuple[Capture, Refreshed]]] = {}
        self._copies: dict[int, tuple[StorageWeakRef, Capture]] = {}  # of elements of static inputs
        self._replayed: dict[int, Replayed] = {}

    @property
    def are_known(self) -> bool:
        """Whether there is a graph that reads something."""
        return bool(self._inputs)

    def captured(self, capture: Capture) -> None:
        """From now on, look at the memory that this graph reads."""
        self._replayed[id(capture)] = Replayed()
        for key in capture.externals:
            self._inputs.setdefault(key, {})[id(capture)] = capture, Refreshed()

    def ran(self, call: Call, result: object) -> None:
        """An operator ran outside of every capture."""
        for tensor in call.written():
            if tensor.is_cuda:
                self._write(call, tensor)
        if call.schema == "aten::index":
            self._indexed(call, result)

    def replays(self, capture: Capture, stack: Stack, *, is_read: bool) -> None:
        """A graph is about to be replayed; `is_read` says that an output of its last replay was."""
        replayed, offered = self._replayed.setdefault(id(capture), Replayed()), self._offered(capture)
        known = {key: one[id(capture)][1] for key, one in self._inputs.items() if id(capture) in one}
        refreshed = known.values()
        is_new, seed = any(one.written for one in refreshed), torch.cuda.initial_seed()
        is_same = not is_new and not (capture.draws and seed != replayed.seed)
        is_other = any(replayed.offered.get(key, one)() is not one() for key, one in offered.items())
        is_awaited = replayed.is_astray or (capture.replays and is_read and replayed.is_fed)
        # What other threads write is not seen, nor how a compiled function copies what it is called with.
        is_seen = not _others_may_write() and capture.region.kind != COMPILED
        if is_seen and is_same and (is_other or (is_awaited and not _changes_itself(capture))):
            self.tell(capture, Trouble("unrefreshed-input", stack, "no memory that the graph reads was written"))
        left_out = next((one.stack for one in refreshed if is_new and one.reached and not one.written), ())
        is_fed = replayed.is_fed or is_new
        is_own = bool(stack) and any(place.code is stack[0].code for place in capture.stack)  # it fed what it captured
        unfed = stack if offered and not is_fed and not is_own else ()
        rests = [rest for key, one in known.items() if (rest := self._check_rest(capture, key, one)).extents]
        self._replayed[id(capture)] = Replayed(offered, is_fed, left_out=left_out, unfed=unfed, rests=rests, seed=seed)
        self._copies = {key: one for key, one in self._copies.items() if not one[0].expired()}
        written = {key for key, external in capture.externals.items() if external.is_written}
        for key in (written | capture.internals.keys()) & self._inputs.keys():
            for other, one in self._inputs[key].values():
                if other is not capture:
                    one.written.add(_ALL)

    def left_out(self, capture: Capture) -> Stack:
        """The line that wrote to an input for an earlier replay, where the last one got another input anew."""
        return self._replayed[id(capture)].left_out

    def unfed(self, capture: Capture) -> Stack:
        """The last replay of a graph that never got anything, if it was offered something."""
        return self._replayed[id(capture)].unfed

    def rests(self, capture: Capture) -> list[Rest]:
        """What was left of inputs that were written in part for the last replay."""
        return self._replayed[id(capture)].rests

    def _offered(self, capture: Capture) -> Variables:
        """The variables beside the call of `replay` that hold a tensor like an input, but none of the graph's own."""
        if any(external.is_host for external in capture.externals.values()):
            return {}  # the request may come that way
        wanted = {(one.shape, one.dtype) for one in capture.externals.values() if not one.is_written}
        frame = next((frame for frame in running() if is_user_code(frame.f_code.co_filename)), None)
        if frame is None:
            return {}
        code = frame.f_code
        names = code.co_varnames if code.co_flags & inspect.CO_OPTIMIZED else tuple(frame.f_locals)
        values = {(code, name): local(frame, name) for name in names}
        return {
            key: weakref.ref(value)
            for key, value in values.items()
            if isinstance(value, torch.Tensor)
            and (tuple(value.shape), value.dtype) in wanted
            and storage_key(value) not in self._inputs
            and storage_key(value) not in capture.internals
        }

    def _check_rest(self, capture: Capture, key: int, one: Refreshed) -> Rest:
        """A write that reaches less far than one before leaves the rest of that one beside it."""
        read = capture.externals[key].covers
        writes = sorted(common(write, read) for write in one.written)
        written = joined(itertools.chain.from_iterable(writes))
        rest = without(one.reached, written)
        if written and capture.replays and rest:
            said = f"{count(rest)} bytes beside it were written for an earlier replay"
            self.tell(capture, Trouble("partial-copy", one.stack, said))
        one.reached = joined([*one.reached, *_from_start(writes, read)])
        one.written.clear()
        return Rest(key, one.stack, without(read, written) if written else [])

    def _indexed(self, call: Call, result: object) -> None:
        """A copy of a static input was made, which a program may take for a part of it."""
        known = self._inputs.get(storage_key(call.args[0]), {})
        for tensor in tensors(result):
            for capture, _ in known.values():
                self._copies[storage_key(tensor)] = StorageWeakRef(tensor.untyped_storage()), capture

    def _write(self, call: Call, tensor: torch.Tensor) -> None:
        copied = self._copies.get(storage_key(tensor))
        if copied is not None:
            self._replayed[id(copied[1])].is_astray = True
        known = self._inputs.get(storage_key(tensor))
        if not known:
            return
        write = tuple(covered(tensor))
        self.touched.add(storage_key(tensor))
        stack = user_stack(sys._getframe())
        source = call.source
        is_spread = source is not None and source.dim() > 0 and source.numel() < tensor.numel()
        for capture, refreshed in known.values():
            refreshed.stack = stack
            refreshed.written.add(write)
            if is_spread and source is not None:
                said = f"{list(source.shape)} is spread over {list(tensor.shape)}"
                self.tell(capture, Trouble("partial-copy", stack, said))


def _from_start(writes: list[list[Extent]], read: list[Extent]) -> Iterator[Extent]:
    """The bytes of those writes, in order, that leave no gap to the start of what is read."""
    end = read[0][0] if read else 0
    for write in writes:
        if write and write[0][0] <= end:
            yield from write
            end = max(end, write[-1][1])


def _others_may_write() -> bool:
    """Whether there is another thread than this one, but for those which a compiler starts and which write nothing."""
    others = (one for one in threading.enumerate() if one is not threading.current_thread())
    work = (getattr(one, "_target", None) or type(one) for one in others)
    return not all(getattr(one, "__module__", "").startswith(_WRITES_NOTHING) for one in work)


def _changes_itself(capture: Capture) -> bool:
    """Whether a replay may give something else though nobody wrote to what it reads."""
    is_state = any(external.is_written or external.is_host for external in capture.externals.values())
    return is_state or capture.draws or bool(capture.bindings.draws)
