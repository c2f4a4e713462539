"""Nothing in, functions by their names in the half of torch that is written in C++ out: those that keep a setting.

All others that torch declares and the emulator does not bring say so when they are called: what they are asked for is
not modelled, which is no failure of who calls them.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch

from graphlint.runtime.device.emulator.kernels import not_modelled

_DECLARATIONS = Path(torch._C.__file__ or "").with_name("_C") / "__init__.pyi"
_TEXT = _DECLARATIONS.read_text(encoding="utf-8") if _DECLARATIONS.is_file() else ""
_DECLARED = tuple(dict.fromkeys(re.findall(r"^def (_cuda_\w+)", _TEXT, re.M)))
_TUNING = "_cuda_tunableop_"
_RELEASE = 13, 0  # of CUDA, as torch was built for
_handles = itertools.count(1 << 41, 1 << 20)

# What is kept: its value at first, the function that gives it, and the one that sets it.
_KEPT: tuple[tuple[object, str, str], ...] = (
    (1.0, "_cuda_getMemoryFraction", "_cuda_setMemoryFraction"),
    (0, "_cuda_getCublasWorkspaceSize", "_cuda_setCublasWorkspaceSize"),
    (0, "_cuda_getCublasLtWorkspaceSize", "_cuda_setCublasLtWorkspaceSize"),
    (True, "_cuda_cudaCachingAllocator_is_enabled", "_cuda_cudaCachingAllocator_enable"),
    ("", "_cuda_getMemoryMetadata", "_cuda_setMemoryMetadata"),
    (10, "_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit"),
    (False, f"{_TUNING}is_enabled", f"{_TUNING}enable"),
    (True, f"{_TUNING}tuning_is_enabled", f"{_TUNING}tuning_enable"),
    (False, "_cuda_record_untuned_is_enabled", "_cuda_record_untuned_enable"),
    (30, f"{_TUNING}get_max_tuning_duration", f"{_TUNING}set_max_tuning_duration"),
    (100, f"{_TUNING}get_max_tuning_iterations", f"{_TUNING}set_max_tuning_iterations"),
    ("tunableop_results0.csv", f"{_TUNING}get_filename", f"{_TUNING}set_filename"),
    (-1, f"{_TUNING}get_rotating_buffer_size", f"{_TUNING}set_rotating_buffer_size"),
)


def functions() -> dict[str, Any]:
    """Settings that nothing here depends on, and what there is nothing to do for."""
    found: dict[str, Any] = {
        "_cuda_getCurrentSolverHandle": lambda: next(_handles),
        "_cuda_getCompiledVersion": lambda: _RELEASE[0] * 1000 + _RELEASE[1] * 10,
        "_cuda_hasPrimaryContext": lambda _device: True,
        "_cuda_isHistoryEnabled": lambda: False,
        "_cuda_isInBadFork": lambda: False,
        "_cuda_get_conv_benchmark_empty_cache": lambda: False,
        "_cuda_checkPoolLiveAllocations": lambda *_: True,
        f"{_TUNING}get_results": tuple,
        f"{_TUNING}get_validators": tuple,
        f"{_TUNING}read_file": lambda _name=None: False,
    }
    silent = (
        "_cuda_resetAccumulatedHostMemoryStats", "_cuda_resetPeakHostMemoryStats", "_cuda_resetCublasWorkspaceSize",
        "_cuda_resetCublasLtWorkspaceSize", "_cuda_record_memory_history", "_cuda_record_memory_history_legacy",
        "_cuda_attach_out_of_memory_observer", f"{_TUNING}set_numerical_check_tolerances",
    )  # fmt: skip
    found |= {name: lambda *_args, **_kwargs: None for name in silent}
    for value, getter, setter in _KEPT:
        kept = [value]
        found[getter] = functools.partial(_get, kept)
        found[setter] = functools.partial(_set, kept)
    return found


def unmodelled(modelled: Container[str]) -> Iterator[tuple[str, Callable[..., NoReturn]]]:
    """Those that torch declares and are not modelled, each as a function that says so, also where torch has one."""
    for name in _DECLARED:
        if name not in modelled:
            yield name, functools.partial(_refuse, name)


def release() -> str:
    """The release of CUDA, as `torch.version.cuda` tells it."""
    return ".".join(map(str, _RELEASE))


def _get(kept: list[object], *_device: object) -> object:
    return kept[0]


def _set(kept: list[object], value: object, *_more: object) -> None:
    kept[0] = value


def _refuse(name: str, *_args: object, **_kwargs: object) -> NoReturn:
    raise not_modelled(f"the emulator has no `torch._C.{name}`")
