"""Autocast for the device in, the same casts of the tensors of the CPU that play its memory out.

The type of a tensor says which autocast it obeys, so the device's sets that of the CPU as well, which leaves some
operators alone: torch knows which, and the families of the catalogue to what they are cast, if not to a wide type.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Container, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from graphlint.runtime.device.emulator.residence import CPU, CUDA

_KEY = "AutocastCPU"
_NARROW = (torch.float16, torch.bfloat16)
_C: Any = torch._C
_keys = _C.DispatchKeySet(_C.DispatchKey.AutocastCPU)


class Autocast:
    """What takes the place of the setters of autocast, and the casts that a CPU lacks."""

    def __init__(self, families: Mapping[str, Container[str]]) -> None:
        self.families = families
        self._own = threading.local()  # the type that the CPU's has while the device's is off
        self._implementing = threading.Lock()
        self._library: Any = None  # what it implements lives as long as it does

    def patches(self) -> list[tuple[Any, str, Any]]:
        """What stands in place of what: the owner, the name, the stand-in."""
        enable, choose = torch.set_autocast_enabled, torch.set_autocast_dtype

        @functools.wraps(enable)
        def enable_both(*given: Any) -> None:
            was_enabled = torch.is_autocast_enabled(CUDA.type)
            enable(*given)
            device, value = given if len(given) > 1 else (CUDA.type, *given)
            if device == CUDA.type and value is not was_enabled:
                if value:
                    self._implement()
                    self._own.dtype = torch.get_autocast_dtype(CPU.type)
                enable(CPU.type, value)
                choose(CPU.type, torch.get_autocast_dtype(CUDA.type) if value else self._own.dtype)

        @functools.wraps(choose)
        def choose_both(device: str, dtype: torch.dtype) -> None:
            choose(device, dtype)
            if device == CUDA.type and torch.is_autocast_enabled(CUDA.type):
                choose(CPU.type, dtype)

        return [(torch, "set_autocast_enabled", enable_both), (torch, "set_autocast_dtype", choose_both)]

    def _implement(self) -> None:
        """From here on, autocast for the CPU casts what that for a GPU does; most programs never get here."""
        with self._implementing:
            if self._library is not None:
                return
            self._library = torch.library.Library("aten", "IMPL")
            for name in _left_alone():
                schema, _, overload = name.partition(".")
                operator = getattr(getattr(torch.ops.aten, schema.removeprefix("aten::")), overload or "default")
                self._library.impl(name, functools.partial(_run, operator, self._target(schema)), _KEY)

    def _target(self, schema: str) -> Callable[[set[torch.dtype]], torch.dtype]:
        """The type to which an operator is cast that is given some types."""
        if schema in self.families["autocast-narrow"]:
            return lambda given: torch.get_autocast_dtype(CUDA.type)
        if schema in self.families["autocast-widest"]:
            return lambda given: torch.float32 if torch.float32 in given else next(iter(given))
        return lambda given: torch.float32


def _left_alone() -> list[str]:
    """The operators that a GPU casts, and a CPU does not."""
    having_kernel = _C._dispatch_get_registrations_for_dispatch_key
    names = {*having_kernel("AutocastCUDA")}.difference(having_kernel(_KEY))
    return [name for name in names if name.startswith("aten::")]


def _run(operator: Any, target: Callable[[set[torch.dtype]], torch.dtype], *args: Any, **kwargs: Any) -> Any:
    """Run an operator on arguments of one type; those that are wider than any autocast stay as they are."""
    with _C._ExcludeDispatchKeyGuard(_keys):
        given = {one.dtype for one in tree_leaves((args, kwargs)) if _is_cast(one)}
        if given:
            wanted = target(given)
            args, kwargs = tree_map(lambda one: one.to(wanted) if _is_cast(one) else one, (args, kwargs))
        return operator(*args, **kwargs)


def _is_cast(one: object) -> bool:
    return isinstance(one, torch.Tensor) and one.is_cuda and one.dtype in (*_NARROW, torch.float32)
