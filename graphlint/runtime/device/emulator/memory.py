"""What torch asks of the allocator of a device in, answers of one that has all the memory it needs out."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from typing import Any

_LARGE = 1 << 18  # bytes
_MMAP_THRESHOLD = -3  # as glibc numbers its parameters
_addresses = itertools.count(1 << 40, 1 << 20)
_COUNTED = ("allocation", "segment", "active", "inactive_split")
_POOLS = ("all", "small_pool", "large_pool")
_NOTHING = dict.fromkeys(("current", "peak", "allocated", "freed"), 0)


def return_freed() -> None:
    """From here on, the memory of large tensors is given back at once, which else lies between those that are kept."""
    with contextlib.suppress(OSError, AttributeError):  # of another library of C
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


def functions() -> dict[str, Any]:
    """What the half of torch that is written in C++ has of an allocator."""
    return {
        "_cuda_emptyCache": _nothing,
        "_host_emptyCache": _nothing,
        "_cuda_memoryStats": lambda _device: _statistics(),
        "_cuda_hostMemoryStats": dict,
        "_cuda_memorySnapshot": lambda *_: {"segments": []},
        "_cuda_resetPeakMemoryStats": _nothing,
        "_cuda_resetAccumulatedMemoryStats": _nothing,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_raw_alloc": lambda size, _stream: next(_addresses),
        "_cuda_cudaCachingAllocator_raw_delete": _nothing,
        "_cuda_beginAllocateToPool": _nothing,
        "_cuda_endAllocateToPool": _nothing,
        "_cuda_releasePool": _nothing,
        "_cuda_clearCublasWorkspaces": _nothing,
        "_cuda_getCurrentBlasHandle": lambda: next(_addresses),
        "_cuda_CUDAAllocator_AllocatorState": type("_AllocatorState", (), {}),
        "_cuda_ipc_collect": _nothing,
    }


def _statistics() -> dict[str, Any]:
    counted = (
        *_COUNTED,
        *(f"{name}_bytes" for name in ("allocated", "reserved", "active", "inactive_split", "requested")),
    )
    zeros = {name: {pool: dict(_NOTHING) for pool in _POOLS} for name in counted}
    sizes = {name: dict(_NOTHING) for name in ("oversize_allocations", "oversize_segments")}
    return {**zeros, **sizes, "num_alloc_retries": 0, "num_ooms": 0}


def _nothing(*_args: object, **_kwargs: object) -> None:
    """There is nothing to do."""
