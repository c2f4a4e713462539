"""Calls of what opens captures in; what opened the one that begins now, out."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any

from graphlint.runtime.trace.places import Place, is_user_code, place_of

BEGIN = "torch.cuda.CUDAGraph.capture_begin"
GRAPH = "torch.cuda.graph"
GRAPHED = "torch.cuda.make_graphed_callables"
COMPILED = "torch.compile"


class Openings:
    """Knows which of these run on behalf of the innermost line of user code; each thread has its own."""

    def __init__(self) -> None:
        self._running: ContextVar[tuple[Place | None, tuple[str, ...]]] = ContextVar("running", default=(None, ()))

    @property
    def running(self) -> tuple[str, ...]:
        """From the outermost inwards; none of those that the line was called by, over user code in between."""
        line, kinds = self._running.get()
        return kinds if line == _line(sys._getframe(1)) else ()

    @property
    def kind(self) -> str:
        """What a region is called that begins now."""
        return next(iter(self.running), BEGIN)

    def noting(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function; what begins while it runs is opened by it."""

        @functools.wraps(call)
        def noted(*args: Any, **kwargs: Any) -> Any:
            token = self._running.set((_line(sys._getframe(1)), (*self.running, kind)))
            try:
                return call(*args, **kwargs)
            finally:
                self._running.reset(token)

        return noted


def _line(frame: FrameType | None) -> Place | None:
    while frame is not None and not is_user_code(frame.f_code.co_filename):
        frame = frame.f_back
    return place_of(frame) if frame is not None else None
