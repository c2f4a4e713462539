"""An operator in, its result on the CPU out, also where the CPU has no kernel for the type that a GPU has one for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS
from torch.utils._pytree import tree_map

from graphlint.runtime.watch.operators import Operator

_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Kernels:
    """What operators of an emulated device, and those of the host beside it, are computed with."""

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, on_device: bool) -> object:
        """The result of an operator; `on_device` says where it lies. Raises NotImplementedError without a kernel."""
        return compute(func, args, kwargs) if on_device else func(*args, **kwargs)

    def body_of(self, operator: Operator) -> Callable[..., object] | None:
        """The function to run in place of an operator, whose operators are followed one by one."""
        return body_of(operator)


def compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """Run an operator; one that lacks its type runs in a wider one. Raises NotImplementedError where neither works."""
    try:
        return func(*args, **kwargs)
    except NotImplementedError as error:
        if "not implemented for" in str(error) and not func._schema.is_mutable:
            return _in_wider_type(func, args, kwargs)
        raise NotImplementedError(f"the emulator has no kernel for {func}") from error


def body_of(operator: Operator) -> Callable[..., object] | None:
    """The function behind an operator that is written in Python."""
    known = OPDEFS.get(operator.schema)
    if known is None:
        return None
    bodies: dict[str | None, Callable[..., object]] = known._backend_fns
    return bodies.get("cuda", bodies.get(None))


def _in_wider_type(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    given = [one.dtype for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)]
    narrow = given[0] if given else torch.float32
    wide = torch.float64 if narrow in _INTEGERS else _WIDER.get(narrow, narrow)

    def cast(value: Any, before: torch.dtype, after: torch.dtype) -> Any:
        return value.to(after) if isinstance(value, torch.Tensor) and value.dtype is before else value

    widened = tree_map(lambda value: cast(value, narrow, wide), (args, kwargs))
    return tree_map(lambda value: cast(value, wide, narrow), func(*widened[0], **widened[1]))
