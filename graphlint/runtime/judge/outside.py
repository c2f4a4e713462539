"""The operators between replays in; what they do to static inputs and outputs that a replay spoils out."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass, field

import torch

from graphlint.runtime.places import Stack, libraries_between, user_stack
from graphlint.runtime.watch.capture import Capture, Tell, Trouble
from graphlint.runtime.watch.operators import Call, storage_key, tensors


@dataclass(slots=True)
class Refreshed:
    """The bytes of a static input that were written since the last replay, and how far writes ever reached."""

    stack: Stack = ()
    written: list[tuple[int, int]] = field(default_factory=list)
    reach: int = 0


@dataclass(slots=True)
class View:
    """A tensor that shares the memory of an output, and when it was made."""

    tensor: weakref.ref[torch.Tensor]
    stack: Stack
    replays: int


class Outside:
    """Follows what happens to the inputs and outputs of the graphs, which a replay neither checks nor repeats."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._outputs: dict[int, Capture] = {}
        self._inputs: dict[int, dict[int, tuple[Capture, Refreshed]]] = {}
        self._read: set[int] = set()  # captures of which an output was read since their last replay
        self._early: set[int] = set()  # captures of which an output was read before any replay
        self._fed: set[int] = set()  # captures that were given something new at least once
        self._views: dict[int, View] = {}
        self.touched: set[int] = set()  # memory that graphs use and that was written since

    def captured(self, capture: Capture) -> None:
        """From now on, look at the memory of this graph."""
        for key, internal in capture.internals.items():
            if not internal.storage.expired():
                self._outputs[key] = capture
        for key, external in capture.externals.items():
            if external.is_written and not external.is_host:
                self._outputs.pop(key, None)
            self._inputs.setdefault(key, {})[id(capture)] = capture, Refreshed()

    def ran(self, call: Call, result: object) -> None:
        """An operator ran outside of every capture."""
        if not self._inputs:
            return
        written = [tensor for tensor in call.written() if tensor.is_cuda]
        for tensor in written:
            self._write(call, tensor)
        for tensor in call.tensors():
            capture = self._outputs.get(storage_key(tensor))
            if capture is None or any(tensor is one for one in written):
                continue
            if call.is_view:
                self._look(capture, result)
            else:
                self._read_output(capture, tensor)

    def replays(self, capture: Capture) -> None:
        """A graph is about to be replayed."""
        stack = user_stack(sys._getframe(1))
        refreshed = [one[id(capture)][1] for one in self._inputs.values() if id(capture) in one]
        is_asked = capture.replays and id(capture) in self._read and id(capture) in self._fed
        if is_asked and self._is_unrefreshed(capture, refreshed):
            self.tell(capture, Trouble("unrefreshed-input", stack, "no memory that the graph reads was written"))
        if any(one.written for one in refreshed):
            self._fed.add(id(capture))
        for one in refreshed:
            self._check_tail(capture, one)
        self._read.discard(id(capture))
        for external in capture.externals:
            for other, _ in self._inputs.get(external, {}).values():
                if other is not capture and capture.externals[external].is_written:
                    self._inputs[external][id(other)][1].written.append((0, sys.maxsize))

    def _is_unrefreshed(self, capture: Capture, refreshed: list[Refreshed]) -> bool:
        changes_itself = any(external.is_written or external.is_host for external in capture.externals.values())
        draws = capture.draws or capture.bindings.draws
        return not changes_itself and not draws and not any(one.written for one in refreshed)

    def _check_tail(self, capture: Capture, one: Refreshed) -> None:
        """A write that reaches less far than one before leaves the rest of that one behind it."""
        end = 0
        for first, last in sorted(one.written):
            end = max(end, last) if first <= end else end
        if one.written and capture.replays and end < one.reach:
            said = f"{one.reach - end} bytes behind it were written for an earlier replay"
            self.tell(capture, Trouble("partial-copy", one.stack, said))
        one.reach = max(one.reach, end)
        one.written.clear()

    def _write(self, call: Call, tensor: torch.Tensor) -> None:
        known = self._inputs.get(storage_key(tensor))
        if not known:
            return
        first = tensor.storage_offset() * tensor.element_size()
        last = first + tensor.numel() * tensor.element_size() if tensor.is_contiguous() else sys.maxsize
        self.touched.add(storage_key(tensor))
        stack = user_stack(sys._getframe())
        source = call.source
        is_spread = source is not None and source.dim() > 0 and source.numel() < tensor.numel()
        for capture, refreshed in known.values():
            refreshed.stack = stack
            refreshed.written.append((first, last))
            if is_spread and source is not None:
                said = f"{list(source.shape)} is spread over {list(tensor.shape)}"
                self.tell(capture, Trouble("partial-copy", stack, said))

    def _look(self, capture: Capture, result: object) -> None:
        if torch._C._current_autograd_node() is not None:
            return  # on its way to a gradient
        # No variable holds the frame: it would hold itself, and the tensors that are looked at.
        for tensor in tensors(result):
            self._views[id(tensor)] = View(weakref.ref(tensor), user_stack(sys._getframe()), capture.replays)

    def _read_output(self, capture: Capture, tensor: torch.Tensor) -> None:
        self._read.add(id(capture))
        is_own = any(name.endswith(":make_graphed_callables") for name in libraries_between(sys._getframe()))
        if not capture.replays and id(capture) not in self._early and not is_own:
            self._early.add(id(capture))
            self.tell(capture, Trouble("output-before-replay", user_stack(sys._getframe()), "no replay has written it"))
        view = self._views.get(id(tensor))
        if view is not None and view.tensor() is tensor and 0 < view.replays < capture.replays:
            self.tell(capture, Trouble("overwritten-output", view.stack, "it was read after a later replay"))
