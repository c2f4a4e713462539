"""What the dispatch modes of this project share: which operators they take apart, and how torch compiles past them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_DISABLED = "__dynamo_disable"  # where torch keeps what its compiler makes of the method


@functools.cache
def is_composite(func: Any) -> bool:
    """Whether an operator is made of others alone; autograd takes it apart, and where that is off, a mode has to."""
    if not isinstance(func, torch._ops.OpOverload):
        return False
    has_kernel = functools.partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    return has_kernel("CompositeImplicitAutograd") and not has_kernel("CPU") and not has_kernel("CUDA")


def keep_from_compiler(mode: type[TorchDispatchMode]) -> None:
    """Torch imports its compiler, which takes seconds, before a mode runs first; let it wait until somebody compiles.

    Where torch keeps it elsewhere, this changes nothing.
    """
    dispatch: Callable[..., Any] = inspect.unwrap(mode.__torch_dispatch__)

    def run(*args: Any, **kwargs: Any) -> object:
        disable = getattr(sys.modules.get("torch._dynamo"), "disable", None)
        if disable is not None:
            setattr(dispatch, _DISABLED, disable(dispatch))
        return dispatch(*args, **kwargs)

    setattr(dispatch, _DISABLED, run)
