"""What streams and the host do with the memory of graphs in; what of it no order keeps apart out."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from graphlint.runtime.trace.capture import Capture, Tell, Trouble
from graphlint.runtime.trace.operators import Call, storage_key
from graphlint.runtime.trace.places import Stack, user_stack
from graphlint.runtime.watch.clocks import Clocks, Moment
from graphlint.runtime.watch.openings import COMPILED

BEGINNING: Moment = (0, 0)


@dataclass(slots=True)
class Shared:
    """Memory of graphs: the captures that made it, and those that found it; who wrote it last outside of graphs."""

    results: list[Capture] = field(default_factory=list)
    inputs: list[Capture] = field(default_factory=list)
    written: tuple[Moment, Stack] | None = None


class Order:
    """Follows the memory of graphs, and the replays that use it."""

    def __init__(self, tell: Tell, clocks: Clocks) -> None:
        self.tell = tell
        self.clocks = clocks
        self._shared: dict[int, Shared] = {}
        self._replay: dict[int, Callable[[], Moment]] = {}
        self._replayed: dict[int, Moment] = {}
        self._pools: dict[tuple[int, int], list[Capture]] = {}
        self._threads: dict[int, threading.Thread] = {}  # that replayed last; their numbers are used again

    def captured(self, capture: Capture) -> None:
        """From now on, look at the memory of this graph."""
        self._replay[id(capture)] = self.clocks.captured()
        if capture.region.kind != COMPILED and capture.pool is not None:  # trees order theirs themselves
            self._pools.setdefault(capture.pool, []).append(capture)
        for key in capture.externals:
            self._shared.setdefault(key, Shared()).inputs.append(capture)
        for key, internal in capture.internals.items():
            if not internal.storage.expired():
                self._shared[key] = Shared([capture])

    def replays(self, capture: Capture) -> None:
        """A graph is about to be replayed."""
        if _is_of_autograd():
            self._replayed.pop(id(capture), None)
            return
        thread, before = threading.current_thread(), self._replayed.get(id(capture), BEGINNING)
        if self._threads.get(id(capture), thread) is not thread and not self.clocks.is_before_stream(before):
            said = "another thread replayed it, and nothing orders what it reads of that before this replay"
            self.tell(capture, Trouble("overwritten-output", user_stack(sys._getframe()), said))
        self._threads[id(capture)] = thread
        self._replays_beside(capture)
        moment = self._replay[id(capture)]()
        for key in capture.externals:
            written = self._shared[key].written
            if written is not None and not self.clocks.is_before_stream(written[0]):
                said = "a replay reads it on another stream, and does not wait for it"
                self.tell(capture, Trouble("uncaptured-dependency", written[1], said))
                self._shared[key].written = None  # once is enough
        self._replayed[id(capture)] = moment

    def _replays_beside(self, capture: Capture) -> None:
        """Graphs that share a pool share the memory that each frees on its way."""
        for other in self._pools.get(capture.pool, ()) if capture.pool is not None else ():
            if other is not capture and not self.clocks.is_before_stream(self._replayed.get(id(other), BEGINNING)):
                said = "a graph that shares its pool is replayed on another stream, and nothing orders the two"
                self.tell(capture, Trouble("overwritten-output", user_stack(sys._getframe()), said))

    def ran(self, call: Call, _result: object) -> None:
        """An operator ran outside of every capture."""
        is_of_host = not any(one.is_cuda for one in call.tensors)  # a copy between host and device has its own order
        shared = {key: self._shared[key] for one in call.used if (key := storage_key(one)) in self._shared}
        if not shared or _is_of_autograd():
            return
        written = {storage_key(one) for one in call.written()}
        for key, one in shared.items():
            if is_of_host:
                self._of_host(one, key, is_written=key in written)
            elif not any(capture.externals[key].is_host for capture in one.inputs):
                self._of_device(one, is_written=key in written)

    def _of_device(self, shared: Shared, *, is_written: bool) -> None:
        """An operator of the current stream uses it."""
        stack = user_stack(sys._getframe())
        for capture in (*shared.results, *(shared.inputs if is_written else ())):
            if not self.clocks.is_before_stream(self._replayed.get(id(capture), BEGINNING)):
                said = "it runs on another stream than the replay, and does not wait for it"
                self.tell(capture, Trouble("uncaptured-dependency", stack, said))
        moment = self.clocks.launch()
        if is_written:
            shared.written = moment, stack

    def _of_host(self, shared: Shared, key: int, *, is_written: bool) -> None:
        """The host uses memory that graphs copy from or to."""
        for capture in shared.inputs:
            if self.clocks.is_before_host(self._replayed.get(id(capture), BEGINNING)):
                continue
            stack = user_stack(sys._getframe())
            if capture.externals[key].is_written:
                self.tell(capture, Trouble("stale-readback", stack, "nothing has waited for the replay that writes it"))
            elif is_written:
                said = "a replay that reads it has not come to its end"
                self.tell(capture, Trouble("pinned-source", stack, said))


def _is_of_autograd() -> bool:
    """Autograd orders its streams itself, where nobody sees it."""
    return torch._C._current_autograd_node() is not None
