"""An emulated device in, the answers that a watch asks of a driver out."""

from __future__ import annotations

import contextlib
import importlib
import weakref
from collections.abc import Callable, Collection, Iterator
from typing import Any

from graphlint.runtime.device.backend import Heard, TellLeftOut
from graphlint.runtime.device.emulator.library import Emulator
from graphlint.runtime.device.emulator.recording import Recording
from graphlint.runtime.trace.nodes import Node


class EmulatedDriver:
    """The driver of an emulated device; the handle of a graph is the identity of its recording."""

    is_real = False
    unseen = ""

    def __init__(self, emulator: Emulator, refused: Callable[[str], None]) -> None:
        self.emulator = emulator
        self.has_numbers = emulator.has_numbers
        self._refused = refused
        self._recordings: weakref.WeakValueDictionary[int, Recording] = weakref.WeakValueDictionary()

    @property
    def guessed(self) -> Collection[str]:
        return self.emulator.guesses.made

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        streams = self.emulator.streams
        before, streams.refused = streams.refused, self._refused
        try:
            yield
        finally:
            streams.refused = before

    def capture(self, stream: int) -> tuple[int, int | None]:
        recording = self.emulator.streams.lines[stream].recording
        return self.emulator.streams.status(stream), len(recording.nodes) if recording is not None else None

    def capture_graph(self, stream: int) -> int | None:
        recording = self.emulator.streams.lines[stream].recording
        if recording is None:
            return None
        self._recordings[id(recording)] = recording
        return id(recording)

    def node_count(self, graph: int) -> int | None:
        return len(self._recordings[graph].nodes)

    def nodes(self, graph: int) -> tuple[Node, ...]:
        return tuple(self._recordings[graph].nodes)

    def end_capture(self, stream: int) -> None:
        recording = self.emulator.streams.lines[stream].recording
        if recording is not None:
            self.emulator.streams.end(recording)
            recording.end()

    def relaxed(self) -> contextlib.AbstractContextManager[None]:
        return self.emulator.streams.relaxed()

    def launches(self, heard: Heard) -> contextlib.AbstractContextManager[None]:
        """Nothing but operators and Triton launches anything."""
        return contextlib.nullcontext()

    def partitions(self, left_out: TellLeftOut) -> contextlib.AbstractContextManager[None]:
        compiler: Any = importlib.import_module("graphlint.runtime.device.emulator.compiler")
        telling: contextlib.AbstractContextManager[None] = compiler.telling(left_out)
        return telling

    def poison(self) -> None:
        """Memory that nobody owns is not there any more."""

    def modes(self) -> contextlib.AbstractContextManager[Any]:
        return self.emulator.device
