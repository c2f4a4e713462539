"""What torch asks of the allocator of a device in, answers of one that has all the memory it needs out."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
from typing import Any

import torch

from graphlint.errors import UsageError

CAPACITY = 80 << 30  # bytes
_REFUSED = re.compile(r"DefaultCPUAllocator: .*tried to allocate (\d+) bytes")
_LARGE = 1 << 18  # bytes
_MMAP_THRESHOLD = -3  # as glibc numbers its parameters
_addresses = itertools.count(1 << 40, 1 << 20)


def return_freed() -> None:
    """From here on, the memory of large tensors is given back at once, which else lies between those that are kept."""
    with contextlib.suppress(OSError, AttributeError):  # of another library of C
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _LARGE)


def out_of_memory(error: RuntimeError) -> Exception | None:
    """What a device says where the host has no memory: nothing but that, or that the host has less than it would."""
    found = _REFUSED.search(str(error))
    if found is None:
        return None
    size = int(found[1])
    if size > CAPACITY:
        said = f"Tried to allocate {size / 2**30:.2f} GiB. GPU 0 has a total capacity of {CAPACITY / 2**30:.2f} GiB."
        refused: Exception = torch.OutOfMemoryError(f"CUDA out of memory. {said}")
        return refused
    return UsageError(f"this machine has no {size} bytes for a tensor; `--shapes-only` takes none")


def functions() -> dict[str, Any]:
    """What the half of torch that is written in C++ has of an allocator."""
    return {
        "_cuda_emptyCache": _nothing,
        "_host_emptyCache": _nothing,
        "_cuda_hostMemoryStats": dict,
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


def _nothing(*_args: object, **_kwargs: object) -> None:
    """There is nothing to do."""
