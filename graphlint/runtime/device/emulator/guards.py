"""A build of torch without a GPU in; one that can say in C++ on which streams tensors are that name the GPU, out."""

from __future__ import annotations

import ctypes
from pathlib import Path

import torch

_GUARDS = "_ZN3c104impl26device_guard_impl_registryE"  # c10::impl::device_guard_impl_registry, by the type of device
_CPU, _CUDA = 0, 1


def register() -> None:
    """What torch traces names the GPU, and where C++ finds nobody to ask for its streams, it ends the process.

    The guard of the CPU answers that there is one stream. Where a release keeps them elsewhere, nothing changes.
    """
    for library in Path(torch.__file__).with_name("lib").glob("libc10.*"):
        try:
            guards = (ctypes.c_void_p * (_CUDA + 1)).in_dll(ctypes.CDLL(str(library)), _GUARDS)
        except (OSError, ValueError):
            continue
        guards[_CUDA] = guards[_CPU]
