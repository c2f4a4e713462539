"""The CUDA driver: a stream in, what its capture has recorded and which calls were refused out.

What fills a structure is asked through `cuda-bindings`, NVIDIA's own description of the driver. What a watch cannot do
without is called through ctypes, since not every build of torch brings `cuda-bindings`: the calls that take and give
nothing but handles and numbers.
"""

from __future__ import annotations

import ctypes
import importlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from graphlint.runtime.device.backend import NOT_CAPTURING

_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
_ERROR_LEVEL = 0
_MEMORY_TYPE, _IS_MANAGED = 2, 8  # attributes of a pointer
_HOST = 1
_RELAXED = 2  # mode of a thread towards the captures under way


class Driver:
    """What is missing from an older driver is answered with nothing."""

    def __init__(self, refused: Callable[[str], None] | None = None) -> None:
        """`refused` gets the driver's sentence on a call that it refuses, in the thread that made the call.

        Raises OSError where there is no driver.
        """
        self._library = ctypes.CDLL("libcuda.so.1")
        self.binding = _binding()
        self._refused = refused
        self._asking: int | None = None  # the thread that calls from here, of which no refusal is passed on
        self._callback = _LogCallback(self._logged)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside, hear of the calls that are refused (needs CUDA 12.9, and a driver that is initialised).

        The driver calls back under a lock of its own. A thread that waits for that lock without giving up Python's
        would never end, so this is for captures, and not for threads that replay.
        """
        handle = ctypes.c_void_p()
        is_heard = self.call("cuLogsRegisterCallback", self._callback, None, ctypes.byref(handle))
        try:
            yield
        finally:
            if is_heard:
                self.call("cuLogsUnregisterCallback", handle)

    def _logged(self, _data: int, level: int, message: bytes, length: int) -> None:
        if level == _ERROR_LEVEL and self._refused is not None and self._asking != threading.get_ident():
            line = message[:length].decode("utf-8", "replace").strip().split("\n")[0]
            # The time of day and the process lead the line, and would make every run differ.
            self._refused(line.rpartition("] ")[2] if line.startswith("[") else line)

    def call(self, name: str, *arguments: Any) -> bool:
        """Call a function of the driver; whether the driver has it and does not refuse.

        Handles and addresses are given as `c_void_p`, since ctypes takes a plain number for 32 bits.
        """
        function = getattr(self._library, name, None)
        return function is not None and bool(self._unheard(function, *arguments) == 0)

    def ask(self, name: str, *arguments: Any) -> Any:
        """What a function of the driver gives, as `cuda-bindings` describes it: one object, or several in a list.

        None where the driver refuses, where it or this release of `cuda-bindings` lacks the function, where that does
        not know the answer, and where there is none.
        """
        function = getattr(self.binding, name, None)
        if function is None:
            return None
        try:
            status, *given = self._unheard(function, *arguments)
        except (RuntimeError, ValueError):
            return None
        if status:
            return None
        return given[0] if len(given) == 1 else given

    def _unheard(self, function: Callable[..., Any], *arguments: Any) -> Any:
        self._asking = threading.get_ident()
        try:
            return function(*arguments)
        finally:
            self._asking = None

    def capture(self, stream: int) -> tuple[int, int | None]:
        """The status of a stream's capture, and the number of nodes that its graph has so far."""
        status, graph = self._capture_info(stream)
        return status, None if graph is None else self.node_count(graph)

    def capture_graph(self, stream: int) -> int | None:
        """The graph that a capturing stream builds; it keeps this handle when the capture ends."""
        return self._capture_info(stream)[1]

    def node_count(self, graph: int) -> int | None:
        """The number of nodes of a graph; None if the driver does not tell."""
        count = ctypes.c_size_t()
        known = self.call("cuGraphGetNodes", ctypes.c_void_p(graph), None, ctypes.byref(count))
        return count.value if known else None

    def end_capture(self, stream: int) -> None:
        """End a capture that torch did not end."""
        if self.capture(stream)[0] != NOT_CAPTURING:
            self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(ctypes.c_void_p()))

    @contextmanager
    def relaxed(self) -> Iterator[None]:
        """Inside, this thread may make calls that a capture under way forbids, on streams that do not capture."""
        mode = ctypes.c_int(_RELAXED)
        known = self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))  # leaves the mode there was before
        try:
            yield
        finally:
            if known:
                self.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))

    def residence(self, address: int) -> str | None:
        """Where an address lies: `host` (pinned), `device` or `managed`; None where CUDA does not know it."""
        kind, is_managed = ctypes.c_uint(), ctypes.c_uint()
        if not self.call("cuPointerGetAttribute", ctypes.byref(kind), _MEMORY_TYPE, ctypes.c_void_p(address)):
            return None
        self.call("cuPointerGetAttribute", ctypes.byref(is_managed), _IS_MANAGED, ctypes.c_void_p(address))
        return "managed" if is_managed.value else "host" if kind.value == _HOST else "device"

    def _capture_info(self, stream: int) -> tuple[int, int | None]:
        """The status of a stream's capture, and its graph."""
        status, identity, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
        nodes, edges, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        head = [ctypes.c_void_p(stream), *map(ctypes.byref, (status, identity, graph, nodes))]
        # The older one refuses graphs with programmatic edges, so it is asked only where the newer one is missing.
        if hasattr(self._library, "cuStreamGetCaptureInfo_v3"):
            known = self.call("cuStreamGetCaptureInfo_v3", *head, ctypes.byref(edges), ctypes.byref(count))
        else:
            known = self.call("cuStreamGetCaptureInfo_v2", *head, ctypes.byref(count))
        return status.value, graph.value if known else None


def _binding() -> ModuleType | None:
    """NVIDIA's description of the driver, where it is installed."""
    try:
        return importlib.import_module("cuda.bindings.driver")
    except ImportError:
        return None
