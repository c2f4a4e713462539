"""A frame in, its variables out, without keeping alive what they hold."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

MISSING = object()
_OWN_REFERENCES = 3  # to a copy of variables: the frame's, ours, and the one that counts


def local(frame: FrameType, name: str) -> object:
    """A variable of a function, or MISSING; the copy of all of them that Python makes up to 3.12 would keep them alive.

    So it is emptied, unless the program holds it, or a trace function runs, after which Python writes it back.
    """
    found = frame.f_locals
    value = found.get(name, MISSING)
    is_copy = type(found) is dict and frame.f_code.co_flags & inspect.CO_OPTIMIZED
    if is_copy and sys.gettrace() is None and sys.getrefcount(found) <= _OWN_REFERENCES:
        found.clear()
    return value


def running() -> Iterator[FrameType]:
    """The frames of this thread, from the innermost outwards."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def as_written(code: CodeType) -> CodeType:
    """What a program wrote, where torch runs in its place what it compiles: that has names of its own."""
    compiler: Any = sys.modules.get("torch._dynamo.utils")
    known: CodeType | None = compiler.orig_code_map.get(code) if compiler is not None else None
    return known or code
