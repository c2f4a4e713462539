"""The operators between replays in; what they do to static inputs and outputs that a replay spoils out."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass

import torch

from graphlint.runtime.device.backend import Backend
from graphlint.runtime.judge.inputs import Inputs
from graphlint.runtime.judge.kept import Kept
from graphlint.runtime.trace.capture import Capture, Tell, Trouble
from graphlint.runtime.trace.operators import Call, storage_key, tensors
from graphlint.runtime.trace.places import Stack, user_stack, waiting_frame
from graphlint.runtime.watch.openings import GRAPHED, Openings


@dataclass(slots=True)
class OutputView:
    """A tensor that shares the memory of an output, and when it was made."""

    tensor: weakref.ref[torch.Tensor]
    stack: Stack
    replays: int


class Outside:
    """Follows what happens to the inputs and outputs of the graphs, which a replay neither checks nor repeats."""

    def __init__(self, tell: Tell, driver: Backend, openings: Openings) -> None:
        self.tell = tell
        self.openings = openings
        self.inputs = Inputs(tell)
        self._kept = Kept(shares_memory=driver.is_real)
        self._outputs: dict[int, Capture] = {}
        self._read: set[int] = set()  # captures of which an output was read since their last replay
        self._early: set[int] = set()  # captures of which an output was read before any replay
        self._views: dict[int, OutputView] = {}

    def captured(self, capture: Capture) -> None:
        """From now on, look at the memory of this graph."""
        self.inputs.captured(capture)
        self._kept.captured(capture)
        for key, internal in capture.internals.items():
            if not internal.storage.expired():
                self._outputs[key] = capture
        for key, external in capture.externals.items():
            if external.is_written and not external.is_host:
                self._outputs.pop(key, None)

    def gave(self, capture: Capture, outputs: list[torch.Tensor]) -> None:
        """A replay has given tensors over the memory of its graph that are not those of the capture."""
        self._kept.gave(capture, outputs)
        self._outputs |= {key: capture for one in outputs if (key := storage_key(one))}

    def ran(self, call: Call, result: object) -> None:
        """An operator ran outside of every capture."""
        if not self.inputs.are_known:
            return
        self.inputs.ran(call, result)
        written = list(call.written()) if self._outputs else []
        for tensor in call.used:
            capture = self._outputs.get(storage_key(tensor))
            if capture is None or any(tensor is one for one in written):
                continue
            self._check_kept(capture, tensor)
            if call.operator.is_view:
                self._look(capture, result)
            else:
                self._read_output(capture, tensor)

    def replays(self, capture: Capture) -> None:
        """A graph is about to be replayed."""
        stack = user_stack(waiting_frame(sys._getframe(1), capture.thread))
        self.inputs.replays(capture, stack, is_read=id(capture) in self._read)
        for external in self._kept.reused_inputs(capture):
            said = "a graph of the same pool has written over what was let go there"
            self.tell(capture, Trouble("overwritten-output", capture.operations[external.used].stack, said))
        self._kept.replays(capture, stack)
        self._read.discard(id(capture))

    def _look(self, capture: Capture, result: object) -> None:
        if torch._C._current_autograd_node() is not None:
            return  # on its way to a gradient
        # No variable holds the frame: it would hold itself, and the tensors that are looked at.
        for tensor in tensors(result):
            self._views[id(tensor)] = OutputView(weakref.ref(tensor), user_stack(sys._getframe()), capture.replays)

    def _read_output(self, capture: Capture, tensor: torch.Tensor) -> None:
        self._read.add(id(capture))
        is_own = GRAPHED in self.openings.running
        if not capture.replays and id(capture) not in self._early and not is_own:
            self._early.add(id(capture))
            self.tell(capture, Trouble("output-before-replay", user_stack(sys._getframe()), "no replay has written it"))
        view = self._views.get(id(tensor))
        if view is not None and view.tensor() is tensor and 0 < view.replays < capture.replays:
            self.tell(capture, Trouble("overwritten-output", view.stack, "it was read after a later replay"))

    def _check_kept(self, capture: Capture, tensor: torch.Tensor) -> None:
        """An output is looked at; something is wrong if it was kept from before a later replay."""
        if said := self._kept.overwritten(capture, tensor):
            stack, span = self._kept.keeping(capture)
            self.tell(capture, Trouble("overwritten-output", stack, said, span))
