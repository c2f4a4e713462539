"""What the shared half of a run asks of the device below it: a real one, or the emulator."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol

from graphlint.runtime.trace.nodes import Node

NOT_CAPTURING, ACTIVE, INVALIDATED = range(3)  # what the driver says of a stream's capture
Refused = Callable[[str], None]
Heard = Callable[[str, int], None]
TellLeftOut = Callable[[str, str], None]


class Backend(Protocol):
    """A device on which captures are taken. Streams and graphs are known by their handles.

    Where it `is_real`, its times and sizes mean something; where it `has_numbers`, tensors hold something to compare.
    """

    is_real: bool
    has_numbers: bool

    @property
    def unseen(self) -> str:
        """What is not seen here, in words, for want of something that could be installed; empty where nothing is."""

    @property
    def guessed(self) -> Collection[str]:
        """What the program has asked for, in words, that is answered here without knowing."""

    def listening(self) -> AbstractContextManager[None]:
        """Inside, pass on what the driver says of calls that it refuses, in the thread that made the call."""

    def capture(self, stream: int) -> tuple[int, int | None]:
        """The status of a stream's capture, and the number of nodes that its graph has so far."""

    def capture_graph(self, stream: int) -> int | None:
        """The graph that a capturing stream builds; it keeps this handle when the capture ends."""

    def node_count(self, graph: int) -> int | None:
        """The number of nodes of a graph; None if that is not known."""

    def nodes(self, graph: int) -> tuple[Node, ...]:
        """The nodes of a graph whose capture has not ended yet."""

    def end_capture(self, stream: int) -> None:
        """End a capture that torch did not end."""

    def relaxed(self) -> AbstractContextManager[None]:
        """Inside, this thread may make calls that a capture under way forbids, on streams that do not capture."""

    def launches(self, heard: Heard) -> AbstractContextManager[None]:
        """Inside, pass on what launches work and on which stream, in the thread that does, as far as that is known."""

    def partitions(self, left_out: TellLeftOut) -> AbstractContextManager[None]:
        """Inside, tell what compiled functions leave out of graphs: why, and a trace that leads there, as torch has it.

        The compiler is there by now.
        """

    def poison(self) -> None:
        """Spoil the memory that nobody owns, so that a graph which still reads it gives something else."""

    def modes(self) -> AbstractContextManager[Any]:
        """The modes of torch below which the device lies, to enter where all others were left."""
