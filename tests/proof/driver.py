"""The CUDA driver through ctypes: a stream in, what its capture has recorded and which calls were refused out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

NOT_CAPTURING = 0
_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
_ERROR_LEVEL = 0


class Driver:
    """What is missing from an older driver is answered with nothing."""

    def __init__(self, refused: Callable[[str], None]) -> None:
        """`refused` gets the driver's sentence on a call that it refuses, in the thread that made the call."""
        self._library = ctypes.CDLL("libcuda.so.1")
        self._refused = refused
        self._callback = _LogCallback(self._logged)  # kept, the driver holds no reference
        self._handle = ctypes.c_void_p()

    def listen(self) -> None:
        """From now on, hear of the calls that are refused (needs CUDA 12.9, and a driver that is initialised)."""
        if hasattr(self._library, "cuLogsRegisterCallback"):
            self._library.cuLogsRegisterCallback(self._callback, None, ctypes.byref(self._handle))

    def _logged(self, _data: int, level: int, message: bytes, length: int) -> None:
        if level == _ERROR_LEVEL:
            line = message[:length].decode("utf-8", "replace").strip().split("\n")[0]
            # The time of day and the process lead the line, and would make every run differ.
            self._refused(line.rpartition("] ")[2] if line.startswith("[") else line)

    def capture(self, stream: int) -> tuple[int, int | None]:
        """The status of a stream's capture, and the number of nodes that its graph has so far."""
        status, identity, graph = ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_void_p()
        nodes, edges, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        head = [ctypes.c_void_p(stream), *map(ctypes.byref, (status, identity, graph, nodes))]
        if hasattr(self._library, "cuStreamGetCaptureInfo_v3"):
            result = self._library.cuStreamGetCaptureInfo_v3(*head, ctypes.byref(edges), ctypes.byref(count))
        elif hasattr(self._library, "cuStreamGetCaptureInfo_v2"):
            result = self._library.cuStreamGetCaptureInfo_v2(*head, ctypes.byref(count))
        else:
            return NOT_CAPTURING, None
        if result or not graph or self._library.cuGraphGetNodes(graph, None, ctypes.byref(count)):
            return status.value, None
        return status.value, count.value

    def end_capture(self, stream: int) -> None:
        """End a capture that torch did not end."""
        if self.capture(stream)[0] != NOT_CAPTURING:
            self._library.cuStreamEndCapture(ctypes.c_void_p(stream), ctypes.byref(ctypes.c_void_p()))
