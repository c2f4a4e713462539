"""Kernels and copies of this process in, as they are launched; each with its stream out.

They are heard of through CUDA's profiling interface, so that the work of libraries is too that torch knows nothing of.
It is called through ctypes, since `cuda-bindings` does not describe it, nor the arguments that it shows.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from graphlint.runtime.device.backend import Heard

_DRIVER_API = 1  # domain of callbacks
_ENTERS = 0  # site of a callback
_PARAMETERS = 16  # offset of the pointer to the arguments in what a callback is given
# Offsets of the stream in the arguments of a function of the driver, which are laid out as a struct.
_STREAMS = {"cuLaunchKernel": 40, "cuLaunchCooperativeKernel": 40, "cuMemcpyAsync": 24, "cuMemcpyHtoDAsync": 24,
            "cuMemcpyDtoHAsync": 24, "cuMemcpyDtoDAsync": 24, "cuMemsetD8Async": 24, "cuMemsetD16Async": 24,
            "cuMemsetD32Async": 24}  # fmt: skip
_EXTENDED, _STREAM_OF_CONFIG = "cuLaunchKernelEx", 32  # its first argument points to a struct that holds the stream
_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)


@contextmanager
def listening(heard: Heard) -> Iterator[None]:
    """Inside, `heard` gets the function of the driver and the stream of each launch, in the thread that makes it.

    It gets nothing where the interface is missing, or where a profiler uses it, since it serves one at a time.
    """
    library = _library()
    told = _Callback(functools.partial(_tell, heard))
    subscriber = ctypes.c_void_p()
    if library is None or library.cuptiSubscribe(ctypes.byref(subscriber), told, None):
        yield
        return
    try:
        for number in _launches():
            library.cuptiEnableCallback(1, subscriber, _DRIVER_API, number)
        yield
    finally:
        library.cuptiUnsubscribe(subscriber)


def _tell(heard: Heard, _data: int, _domain: int, number: int, given: int) -> None:
    if ctypes.c_int.from_address(given).value == _ENTERS:
        name = _launches()[number]
        arguments = _pointer(given + _PARAMETERS)
        stream = _pointer(arguments) + _STREAM_OF_CONFIG if name == _EXTENDED else arguments + _STREAMS[name]
        heard(name, _pointer(stream))


def _pointer(address: int) -> int:
    return ctypes.c_void_p.from_address(address).value or 0


@functools.cache
def _library() -> Any:
    """The interface that torch itself was built with; None where it is not there."""
    try:
        return ctypes.CDLL(f"libcupti.so.{str(torch.version.cuda).partition('.')[0]}")
    except OSError:
        return None


@functools.cache
def _launches() -> Mapping[int, str]:
    """The functions of the driver that launch work, by the number of their callback."""
    found, number, name = {}, 1, ctypes.c_char_p()
    while _library().cuptiGetCallbackName(_DRIVER_API, number, ctypes.byref(name)) == 0:
        plain = (name.value or b"").decode().removesuffix("_ptsz").removesuffix("_v2")
        if plain in _STREAMS or plain == _EXTENDED:
            found[number] = plain
        number += 1
    return found
