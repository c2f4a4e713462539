"""What the dispatch modes of this project share: which operators they take apart, and how torch compiles past them."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_OWN = str(Path(__file__).parents[2])
_DISABLED = "__dynamo_disable"  # where torch keeps what its compiler makes of the method
_compiling: Callable[[], object] | None = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", None)
_left_alone: set[str] = set()  # the modules whose code is kept from the compiler, since before a fork perhaps


@functools.cache
def is_composite(func: Any) -> bool:
    """Whether an operator is made of others alone; autograd takes it apart, and where that is off, a mode has to."""
    if not isinstance(func, torch._ops.OpOverload) or func.namespace == "prim":  # of which some have no entry
        return False
    has_kernel = functools.partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    return has_kernel("CompositeImplicitAutograd") and not has_kernel("CPU") and not has_kernel("CUDA")


class DispatchMode(TorchDispatchMode):
    """A dispatch mode that follows a program, compiled functions as well, and is kept out of what torch compiles."""

    supports_higher_order_operators = True

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        keep_from_compiler(cls)

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Compiled functions run as they do without this mode."""
        return True


def keep_from_compiler(mode: type[TorchDispatchMode]) -> None:
    """Torch imports its compiler, which takes seconds, before a mode runs first; let it wait until somebody compiles.

    From then on, only operators that run inside of a compiled function have to leave the compiler, which takes longer
    than many of them. Where torch keeps all this elsewhere, nothing changes.
    """
    dispatch: Callable[..., Any] = inspect.unwrap(mode.__torch_dispatch__)
    outside: list[Callable[..., Any]] = []  # the method as it runs outside of the compiler, once that is there

    def run(*args: Any, **kwargs: Any) -> object:
        if not outside and hasattr(sys.modules.get("torch._dynamo"), "disable"):
            outside.append(_prepared(run, dispatch))
        if outside and (_compiling is None or _compiling() is not None):
            return outside[0](*args, **kwargs)
        return dispatch(*args, **kwargs)

    setattr(dispatch, _DISABLED, run)


def leave_alone() -> None:
    """Torch compiles all that runs below a compiled function; our own code is none of the program's."""
    skip: Callable[[CodeType], object] = importlib.import_module("torch._dynamo.eval_frame").skip_code
    modules = [name for name in list(sys.modules) if name.startswith("graphlint.") and name not in _left_alone]
    new = [(name, vars(sys.modules[name])) for name in modules]
    _left_alone.update(modules)
    members = [one for name, space in new for one in space.values() if getattr(one, "__module__", "") == name]
    members += [one for kind in members if isinstance(kind, type) for one in vars(kind).values()]
    functions = [inspect.unwrap(getattr(one, "fget", None) or getattr(one, "__func__", one)) for one in members]
    waiting = {one.__code__ for one in functions if isinstance(one, FunctionType)}
    while waiting:
        code = waiting.pop()
        if code.co_filename.startswith(_OWN):
            skip(code)
            waiting |= {one for one in code.co_consts if isinstance(one, CodeType)}


def _prepared(run: Callable[..., Any], dispatch: Callable[..., Any]) -> Callable[..., Any]:
    """The method outside of the compiler, which looks at what chooses it no more."""
    compiler = sys.modules["torch._dynamo"]
    compiler.decorators.skip(run)
    found: Callable[..., Any] = compiler.disable(dispatch)
    return found
