"""Registrations of hooks in, the code that runs as a hook out; and the code of any callable."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from graphlint.runtime.trace.places import Place, Stack

_REGISTERING = re.compile(r"register_\w*hook$")
_OWNERS: tuple[Any, ...] = (
    torch.Tensor,
    torch.nn.Module,
    torch.optim.Optimizer,
    sys.modules["torch.nn.modules.module"],  # for all modules
    sys.modules["torch.optim.optimizer"],  # for all optimizers; torch.optim has no such attribute
)


class Hooks:
    """The code of functions that modules, tensors, optimizers and autograd call on their own."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()

    def patches(self) -> list[tuple[Any, str, Any]]:
        """What to put in place of the functions that register hooks."""
        found = [(owner, name) for owner in _OWNERS for name in vars(owner) if _REGISTERING.match(name)]
        found.append((torch.autograd.graph.saved_tensors_hooks, "__init__"))
        return [(owner, name, self._noting(getattr(owner, name), inspect.isclass(owner))) for owner, name in found]

    def _noting(self, register: Callable[..., Any], is_method: bool) -> Callable[..., Any]:
        @functools.wraps(register)
        def noted(*args: Any, **kwargs: Any) -> Any:
            given = (*args[is_method:], *kwargs.values())
            self.codes |= {code for one in given if callable(one) and (code := code_of(one)) is not None}
            return register(*args, **kwargs)

        return noted


def code_of(call: Any) -> CodeType | None:
    """The code that a callable runs; None for one that is not written in Python."""
    while isinstance(call, functools.partial):
        call = call.func
    if isinstance(call, torch.nn.Module):
        call = call.forward
    elif not inspect.isroutine(call):
        call = type(call).__call__
    code = getattr(getattr(call, "__func__", inspect.unwrap(call)), "__code__", None)
    return code if isinstance(code, CodeType) else None


def opening_of(call: Callable[..., Any]) -> Stack:
    """Where the code of a callable begins; empty for one that is not written in Python."""
    code = code_of(call)
    return (Place(code, 0, str(getattr(call, "__module__", "?"))),) if code is not None else ()
