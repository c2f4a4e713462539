"""What `torch._C._CUDAGraph` has: a capture that records what the current stream runs, and its replay."""

from __future__ import annotations

import itertools
import threading
import warnings
from typing import Any

import torch

from graphlint.runtime.device.emulator.generators import Generators
from graphlint.runtime.device.emulator.guesses import POOLED, Guesses
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.streams import DEFAULT, Streams

_EMPTY = (
    "The CUDA Graph is empty. This usually means that the graph was attempted to be captured on wrong device or stream."
)
_pools = itertools.count(1)


def new_pool() -> tuple[int, int]:
    """The handle of a pool of memory."""
    return 0, next(_pools)


class MemoryPool:
    """What `torch.cuda.MemPool` has; what is made in one lies where everything does here."""

    def __init__(self, allocator: object = None, *_args: object, **_kwargs: object) -> None:
        self.allocator, self.id = allocator, new_pool()

    def use_count(self) -> int:
        return 1

    def snapshot(self, include_traces: bool = True) -> list[object]:
        return []


class GraphBase:
    """One graph; its recording is there from the beginning of a capture on."""

    streams: Streams
    generators: Generators
    guesses: Guesses
    kind: type[Recording]

    def __new__(cls, *_args: object, **_kwargs: object) -> Any:
        graph = object.__new__(cls)
        graph.recording, graph.registered = None, []
        return graph

    _has_graph_exec = True
    recording: Recording | None
    registered: list[Any]

    def capture_begin(self, pool: tuple[int, int] | None = None, capture_error_mode: str = "global") -> None:
        line = self.streams.current
        if line.handle == DEFAULT:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        if line.recording is not None:
            raise RuntimeError("CUDA error: the stream is already capturing")
        if self.recording is not None:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph: prepare for replay with reset.")
        known = {one.source._cdata: one.source for one in (self.generators.default, *self.registered)}
        node = torch._C._current_autograd_node()
        number = node._sequence_nr() if node is not None else -1
        if pool is not None and any(one.pool == pool for one in Recording.living):
            self.guesses.made[POOLED] = None
        self.recording = self.kind(
            line.handle, capture_error_mode, pool or new_pool(), known, threading.get_ident(), number
        )
        self.streams.begin(self.recording)

    def capture_end(self) -> None:
        self.capture_end_pre()
        self.capture_end_post()

    def capture_end_pre(self) -> None:
        recording = self.recording
        if recording is None or not recording.is_open:
            raise RuntimeError("CUDA error: cuStreamEndCapture without a capture (CUDA_ERROR_ILLEGAL_STATE)")
        if self.streams.current.handle != recording.stream:
            raise RuntimeError("Capture must end on the same stream it began on.")
        unjoined = self.streams.unjoined(recording)
        self.streams.end(recording)
        recording.end()
        if unjoined:
            recording.is_valid = False
            raise RuntimeError("CUDA error: capturing stream has unjoined work")
        if not recording.is_valid:
            raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

    def capture_end_post(self) -> None:
        """There is nothing to let go of."""
        if self.recording is not None and not self.recording.nodes:
            warnings.warn(_EMPTY, stacklevel=3)

    def replay(self) -> None:
        recording = self.recording
        if recording is None or recording.is_open or not recording.is_valid:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        if self.streams.current.recording is not None:
            raise RuntimeError("a graph cannot be replayed on a stream that is already capturing")
        recording.replay()

    def pool(self) -> tuple[int, int]:
        if self.recording is None or self.recording.is_open or not self.recording.is_valid:
            raise RuntimeError("Called CUDAGraph::pool() without a preceding successful capture.")
        return self.recording.pool

    def pools(self) -> list[tuple[int, int]]:
        return [self.pool()]

    def reset(self) -> None:
        self.recording = None

    def register_generator_state(self, generator: Any) -> None:
        self.registered.append(generator)

    def instantiate(self) -> None:
        """There is nothing to prepare."""

    def enable_debug_mode(self) -> None:
        """There is nothing to print."""

    def debug_dump(self, _path: str) -> None:
        """There is nothing to print."""
