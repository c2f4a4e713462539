"""A dispatch mode in; it is kept out of what torch compiles, without the compiler being imported."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_DISABLED = "__dynamo_disable"  # where torch keeps what its compiler makes of the method


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
