"""An operator in, its result on the CPU out, also where the CPU has no kernel for the type that a GPU has one for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch._library.custom_ops import OPDEFS
from torch.utils._pytree import tree_map

from graphlint.errors import UsageError
from graphlint.rulebook import builtin_catalogue
from graphlint.runtime.device.emulator.memory import out_of_memory
from graphlint.runtime.trace.operators import COLLECTIVE, operator
from graphlint.runtime.trace.places import caller_stack

_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class Kernels:
    """What operators of an emulated device, and those of the host beside it, are computed with."""

    def __init__(self) -> None:
        self._registered: dict[str, Callable[..., object]] = {}

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, on_device: bool) -> object:
        """The result of an operator; `on_device` says where it lies. Raises UsageError for what is not modelled."""
        return compute(func, args, kwargs) if on_device else func(*args, **kwargs)

    def body_of(self, func: Any) -> Callable[..., object] | None:
        """The function of Python that a GPU runs for an operator, whose own operators are followed one by one."""
        if self._registered and func.name() in self._registered:
            return self._registered[func.name()]
        known = OPDEFS.get(operator(func).schema)
        if known is None:
            return None
        bodies: dict[str | None, Callable[..., object]] = known._backend_fns
        return bodies.get("cuda", bodies.get(None))

    def listening(self, implement: Callable[..., None]) -> Callable[..., None]:
        """What takes the place of `torch.library.Library.impl`, and remembers the functions that are for a GPU."""

        @functools.wraps(implement)
        def implemented(library: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> None:
            implement(library, name, function, dispatch_key, **kwargs)
            is_plain = inspect.isroutine(function) and not kwargs.get("with_keyset")
            if is_plain and (dispatch_key or library.dispatch_key) == "CUDA":
                name = name if isinstance(name, str) else name.name()
                self._registered[f"{library.ns}::{name.rpartition('::')[2]}"] = function

        return implemented


def compute(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """Run an operator; one that lacks its type runs in a wider one. Raises UsageError where neither works."""
    try:
        result = _in_wider_type(func, args, kwargs) if _sums_half(func, args) else func(*args, **kwargs)
    except NotImplementedError as error:
        if "not implemented for" in str(error) and not func._schema.is_mutable:
            return _in_wider_type(func, args, kwargs)
        raise not_modelled(f"the emulator has no kernel for `{func}`") from error
    except RuntimeError as error:
        if (known := out_of_memory(error)) is not None:
            raise known from None
        raise
    if operator(func).namespace == COLLECTIVE:
        wait_for(result)
    return result


def _sums_half(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether it is a product of matrices in float16: a GPU sums in float32, and a CPU is many times slower."""
    is_product = operator(func).schema in builtin_catalogue().families["products"] and not func._schema.is_mutable
    return is_product and getattr(args[0], "dtype", None) is torch.float16


def wait_for(result: Any) -> None:
    """Let a collective end, which another thread carries out."""
    work = result[-1] if isinstance(result, tuple) else result
    if isinstance(work, torch.ScriptObject):
        torch.distributed.Work.unbox(work).wait()


def is_meta(kwargs: Mapping[str, Any]) -> bool:
    """Whether an operator is asked for a result that has a shape alone."""
    return kwargs.get("device") is not None and torch.device(kwargs["device"]).type == "meta"


def not_modelled(what: str) -> UsageError:
    """What the emulator does not know, at the line that asks for it."""
    place = next(iter(caller_stack()), None)
    where = f"{place.path}:{place.line}: " if place is not None else ""
    return UsageError(f"{where}not modelled: {what}; only a GPU can tell what it does")


def _in_wider_type(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    given = [one.dtype for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor)]
    narrow = given[0] if given else torch.float32
    wide = torch.float64 if narrow in _INTEGERS else _WIDER.get(narrow, narrow)

    def cast(value: Any, before: torch.dtype, after: torch.dtype) -> Any:
        return value.to(after) if isinstance(value, torch.Tensor) and value.dtype is before else value

    widened = tree_map(lambda value: cast(value, narrow, wide), (args, kwargs))
    return tree_map(lambda value: cast(value, wide, narrow), func(*widened[0], **widened[1]))
