"""Streams and events of an emulated device: who captures, who was forked from whom, and who has joined."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from graphlint.runtime.device.backend import ACTIVE, INVALIDATED, NOT_CAPTURING
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.device.emulator.residence import CUDA

DEFAULT = 0  # the handle of the default stream
REFUSE_WAITS = 2  # of torch's debugging of synchronisations
_UNNUMBERED = 2**64 - 1  # the sequence number of what accumulates gradients
_WAITED = "called a synchronizing CUDA operation"
_CONFLICT = "API call conflicts with a stream capture sequence initiated from the calling thread"


@dataclass(slots=True)
class Line:
    """One stream: the capture it takes part in, and how much of each stream its next work comes after."""

    handle: int
    recording: Recording | None = None
    seen: dict[int, int] = field(default_factory=dict)
    launched: int = 0  # operators, since the stream joined the capture

    def launch(self) -> None:
        self.launched += 1
        self.seen[self.handle] = self.launched


class Streams:
    """All streams; `refused` hears the sentences that the driver would write in its log."""

    def __init__(self) -> None:
        self.lines: dict[int, Line] = {DEFAULT: Line(DEFAULT)}
        self.refused: Callable[[str], None] = lambda _: None
        self.sync_mode = 0
        self.times = itertools.count(1)  # a millisecond goes by from one event to the next
        self._numbers = itertools.count(3)  # 1 and 2 name the default stream, of all threads and of one
        self._here = threading.local()
        self._first_nodes: list[tuple[int, int]] = [(0, DEFAULT)]  # where the numbers of a stream begin

    def new(self) -> int:
        """The handle of a stream that did not exist before."""
        handle = next(self._numbers)
        self.lines[handle] = Line(handle)
        return handle

    @property
    def current(self) -> Line:
        """The stream on which this thread launches."""
        return self.lines[getattr(self._here, "handle", DEFAULT)]

    def set_current(self, handle: int) -> None:
        self._here.handle = handle
        self._first_nodes.append((torch.autograd._get_sequence_nr(), handle))

    def of_node(self, number: int) -> int:
        """The stream on which the function of a node of autograd went forward; `number` is its sequence number."""
        position = bisect.bisect(self._first_nodes, (number, sys.maxsize))
        return self._first_nodes[position - 1][1] if position and number != _UNNUMBERED else -1

    @property
    def recordings(self) -> list[Recording]:
        """The captures under way."""
        return list({id(one): one for line in self.lines.values() if (one := line.recording) is not None}.values())

    def status(self, handle: int) -> int:
        recording = self.lines[handle].recording
        if recording is None:
            return NOT_CAPTURING
        return ACTIVE if recording.is_valid else INVALIDATED

    def wait_host(self, called: str, line: Line | None = None) -> None:
        """The host waits for a stream, or for the device; raises RuntimeError where that is refused."""
        if getattr(self._here, "is_unwaited", False):
            return
        if self.sync_mode == REFUSE_WAITS and called == "cuStreamSynchronize":
            raise RuntimeError(_WAITED)
        recording = line.recording if line is not None else next(iter(self.recordings), None)
        if recording is not None:
            self.refuse(recording, "900 (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)", called)
        if line is not None:
            self.require_permission(called)

    def require_permission(self, called: str) -> None:
        """A call that looks at a stream beside all captures; raises RuntimeError where one of them forbids that."""
        if getattr(self._here, "is_relaxed", False):
            return
        for recording in self.recordings:
            if recording.mode == "global" or (recording.mode == "thread_local" and recording.is_of_this_thread):
                recording.is_valid = False
                self.refused(f"{_CONFLICT}: {called}")
                raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({called})")

    @contextlib.contextmanager
    def relaxed(self) -> Iterator[None]:
        """Inside, captures forbid this thread nothing on streams that do not capture."""
        before, self._here.is_relaxed = getattr(self._here, "is_relaxed", False), True
        try:
            yield
        finally:
            self._here.is_relaxed = before

    def launch(self, name: str) -> None:
        """Something is launched on the current stream that is no operator, and that gives nothing."""
        if self.current.recording is not None:
            self.current.recording.launch(name)
            self.current.launch()

    @contextlib.contextmanager
    def unwaited(self) -> Iterator[None]:
        """Inside, this thread reads what it would not ask of a device."""
        self._here.is_unwaited = True
        try:
            yield
        finally:
            self._here.is_unwaited = False

    def refuse(self, recording: Recording, code: str, called: str) -> None:
        """What the driver does not allow: it says so, and the capture is broken."""
        recording.is_valid = False
        self.refused(f"Returning {code} from {called}")
        raise RuntimeError(f"CUDA error: operation not permitted when stream is capturing ({code} from {called})")

    def unjoined(self, recording: Recording) -> bool:
        """Whether a stream has work in the capture that its first stream does not wait for."""
        joined = self.lines[recording.stream].seen
        lines = [line for line in self.lines.values() if line.recording is recording]
        return any(line.launched > joined.get(line.handle, 0) for line in lines)

    def begin(self, recording: Recording) -> None:
        line = self.lines[recording.stream]
        line.recording, line.seen, line.launched = recording, {}, 0

    def end(self, recording: Recording) -> None:
        for line in self.lines.values():
            if line.recording is recording:
                line.recording, line.seen, line.launched = None, {}, 0


class StreamBase:
    """What `torch._C._CudaStreamBase` has."""

    streams: Streams

    def __new__(cls, *_args: object, stream_id: int | None = None, stream_ptr: int | None = None, **_: object) -> Any:
        stream = object.__new__(cls)
        handle = stream_id if stream_id is not None else stream_ptr
        stream.handle = cls.streams.new() if handle is None else handle
        return stream

    handle: int
    device = CUDA
    device_index = 0
    device_type = 1
    priority = 0

    @property
    def line(self) -> Line:
        return self.streams.lines[self.handle]

    @property
    def stream_id(self) -> int:
        return self.handle

    @property
    def cuda_stream(self) -> int:
        return self.handle

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StreamBase) and other.handle == self.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def is_capturing(self) -> bool:
        return self.line.recording is not None

    def query(self) -> bool:
        if self.line.recording is not None:
            self.streams.refuse(self.line.recording, "900 (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)", "cuStreamQuery")
        self.streams.require_permission("cuStreamQuery")
        return True

    def synchronize(self) -> None:
        self.streams.wait_host("cuStreamSynchronize", self.line)

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5


class EventBase:
    """What `torch._C._CudaEventBase` has; a wait for an event is how a stream comes into a capture and out of it."""

    streams: Streams

    def __new__(cls, *_args: object, external: bool = False, **_: object) -> Any:
        event = object.__new__(cls)
        event.is_external, event.is_recorded, event.recording, event.seen = external, False, None, {}
        event.time = 0
        return event

    is_external: bool
    is_recorded: bool
    recording: Recording | None
    seen: dict[int, int]
    time: int
    device = CUDA

    @property
    def cuda_event(self) -> int:
        return id(self) if self.is_recorded else 0

    def record(self, stream: StreamBase) -> None:
        line = stream.line
        self.is_recorded, self.time = True, next(self.streams.times)
        if not self.is_external:
            self.recording, self.seen = line.recording, dict(line.seen)

    def wait(self, stream: StreamBase) -> None:
        line = stream.line
        if not self.is_recorded or self.is_external:
            return
        if self.recording is not None and not self.recording.is_open:
            if line.recording is not None:
                self.streams.refuse(line.recording, "905 (CUDA_ERROR_STREAM_CAPTURE_ISOLATION)", "cuStreamWaitEvent")
            return
        if self.recording is None:
            if line.recording is not None:
                self.streams.refuse(line.recording, "905 (CUDA_ERROR_STREAM_CAPTURE_ISOLATION)", "cuStreamWaitEvent")
            return
        if line.recording is not None and line.recording is not self.recording:
            self.streams.refuse(line.recording, "903 (CUDA_ERROR_STREAM_CAPTURE_MERGE)", "cuStreamWaitEvent")
        if line.recording is None and line.handle == DEFAULT:
            self.streams.refuse(self.recording, "906 (CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)", "cuStreamWaitEvent")
        if line.recording is None:
            line.recording, line.seen, line.launched = self.recording, {}, 0
        for handle, count in self.seen.items():
            line.seen[handle] = max(count, line.seen.get(handle, 0))

    def query(self) -> bool:
        self._require_uncaptured("cuEventQuery")
        return True

    def synchronize(self) -> None:
        self._require_uncaptured("cuEventSynchronize")

    def elapsed_time(self, other: EventBase) -> float:
        other._require_uncaptured("cuEventElapsedTime")
        self._require_uncaptured("cuEventElapsedTime")
        return float(other.time - self.time)

    def _require_uncaptured(self, called: str) -> None:
        if self.recording is not None and self.recording.is_open:
            self.streams.refuse(self.recording, "907 (CUDA_ERROR_CAPTURED_EVENT)", called)
