"""A function in; each line of user code that runs, and the frame that runs it, is told to it."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Protocol

from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.places import is_user_code

_TOOL = 4  # of sys.monitoring; the lower ones are debuggers, coverage and profilers
_loader: Any = importlib._bootstrap

Told = Callable[[FrameType, int], None]


class Lines:
    """Listens between `start` and `stop`; not at all where a debugger or the like listens in the same way."""

    def __init__(self, told: Told) -> None:
        way = _Monitor if hasattr(sys, "monitoring") else _Tracer
        self._told = told
        self._way: _Way = way(self._line)
        self._thread: int | None = None  # that listens, while it does
        self._find = _loader._find_and_load
        self._is_collecting = False  # and listens no less, since a search that ends the tracing ends the process

    def start(self) -> None:
        if self._thread is not None:
            return
        self._thread = threading.get_ident()
        gc.callbacks.insert(0, self._collects)
        gc.callbacks.append(self._collected)
        if self._way.start():
            _loader._find_and_load = self._import
        else:
            self._forget()

    def stop(self) -> bool:
        """Whether it was listening."""
        if self._thread is None:
            return False
        _loader._find_and_load = self._find
        was_listening = self._way.stop()
        self._forget()  # as long as there is a way, a search may begin
        return was_listening

    def _forget(self) -> None:
        gc.callbacks.remove(self._collects)
        gc.callbacks.remove(self._collected)
        self._thread = None

    def pause(self) -> None:
        """Until `resume`, do not listen."""
        if self._thread == threading.get_ident():
            self._way.pause()

    def resume(self) -> None:
        """Go on listening, where this thread did."""
        if self._thread == threading.get_ident():
            self._way.resume()

    def _import(self, *args: Any) -> Any:
        """A module that is not there yet is loaded, which happens once in any case, and runs very many lines."""
        if self._thread != threading.get_ident() or not self._way.pause():
            return self._find(*args)
        try:
            return self._find(*args)
        finally:
            self._way.resume()

    def _line(self, frame: FrameType, line: int) -> None:
        if not self._is_collecting:
            self._told(frame, line)

    def _collects(self, phase: str, _counts: object) -> None:
        """Reference cycles are searched for whenever there may be some: what follows from it is nobody's code."""
        if phase == "start" and self._thread == threading.get_ident():
            self._is_collecting = True

    def _collected(self, phase: str, _counts: object) -> None:
        if phase == "stop" and self._thread == threading.get_ident():
            self._is_collecting = False


class _Way(Protocol):
    """How to listen. `start` and `pause` say whether anything has changed by them."""

    def start(self) -> bool: ...

    def pause(self) -> bool: ...

    def resume(self) -> None: ...

    def stop(self) -> bool: ...


class _Monitor:
    """Tells of each line of user code that runs, in any thread, by `sys.monitoring` (Python 3.12)."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.monitoring: Any = getattr(sys, "monitoring", None)

    def start(self) -> bool:
        if self.monitoring.get_tool(_TOOL) is not None:
            return False
        self.monitoring.use_tool_id(_TOOL, "graphlint")
        self.monitoring.register_callback(_TOOL, self.monitoring.events.LINE, self._line)
        self.resume()
        self.monitoring.restart_events()
        return True

    def pause(self) -> bool:
        is_listening = bool(self.monitoring.get_events(_TOOL))
        self.monitoring.set_events(_TOOL, 0)
        return is_listening

    def resume(self) -> None:
        self.monitoring.set_events(_TOOL, self.monitoring.events.LINE)

    def stop(self) -> bool:
        self.pause()
        self.monitoring.register_callback(_TOOL, self.monitoring.events.LINE, None)
        self.monitoring.free_tool_id(_TOOL)
        return True

    def _line(self, code: CodeType, line: int) -> object:
        if not is_user_code(code.co_filename):
            return self.monitoring.DISABLE
        self.told(sys._getframe(1), line)
        return None


class _Tracer:
    """Tells the same of the thread that starts it, by `sys.settrace` (Python 3.11)."""

    def __init__(self, told: Told) -> None:
        self.told = told

    def start(self) -> bool:
        if sys.gettrace() is not None:
            return False
        self.resume()
        for frame in running():
            if is_user_code(frame.f_code.co_filename):
                frame.f_trace = self._line
        return True

    def pause(self) -> bool:
        if sys.gettrace() != self._call:
            return False
        sys.settrace(None)
        return True

    def resume(self) -> None:
        sys.settrace(self._call)

    def stop(self) -> bool:
        if not self.pause():
            return False
        for frame in running():
            if frame.f_trace == self._line:
                frame.f_trace = None
                local(frame, "")  # empties the copy of the variables that tracing has made
        return True

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._line if is_user_code(frame.f_code.co_filename) else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self.told(frame, frame.f_lineno)
        return self._line
