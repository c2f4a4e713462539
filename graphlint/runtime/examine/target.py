"""The name of a target in, what it is and how to run it out."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from graphlint.errors import UsageError, nearest

FORMS = "`package.module:factory`, `path.py:factory`, or `path.py` for a program that captures by itself"


@dataclass(frozen=True, slots=True)
class Runs:
    """How often a target runs eagerly before it is captured, and how many replays are compared with eager.

    `capture_error_mode` is what `torch.cuda.graph` is told: `global`, `thread_local` or `relaxed`.
    """

    warm_ups: int = 3
    replays: int = 3
    capture_error_mode: str = "global"

    @property
    def levels(self) -> tuple[int, ...]:
        """The level of fresh inputs of each compared step: the same values, another order, and then new ones."""
        return tuple(min(number, 2) for number in range(self.replays))


DEFAULT_RUNS = Runs()


@dataclass(frozen=True)
class Target:
    """Something to capture, with example arguments.

    `replay` is given where the target captures itself: `call` is then its `capture()`, and `replay(*args, **kwargs)`
    copies in, replays, and gives the result; `eager`, if it has one, gives the same without a graph.
    """

    call: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    replay: Callable[..., Any] | None = None
    eager: Callable[..., Any] | None = None
    runs: Runs = DEFAULT_RUNS


@dataclass(frozen=True, slots=True)
class Spec:
    """A target as it is named: a module or a file, and the factory in it; without a factory, a program."""

    name: str
    module: str
    path: Path | None
    factory: str

    @property
    def is_program(self) -> bool:
        return not self.factory


def parse(name: str) -> Spec:
    """Read the name of a target; raises UsageError where it has the wrong form, or no such file is there."""
    module, colon, factory = name.rpartition(":")
    if not colon:
        module, factory = name, ""
    if colon and not all(part.isidentifier() for part in factory.split(".")):
        raise UsageError(f"target `{name}` is none of {FORMS}")
    if module.endswith(".py"):
        path = Path(module)
        if not path.is_file():
            raise UsageError(f"target `{name}`: the file {path} does not exist")
        return Spec(name, path.stem, path, factory)
    if not factory or not all(part.isidentifier() for part in module.split(".")):
        raise UsageError(f"target `{name}` is none of {FORMS}")
    return Spec(name, module, None, factory)


def load(spec: Spec) -> Target:
    """Import the module and ask its factory; raises UsageError where there is none or it gives no target."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found: Any = _import(spec)
    for part in spec.factory.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = nearest(part, [name for name in dir(found) if not name.startswith("_")])
            raise UsageError(f"target `{spec.name}`: `{spec.module}` has no `{part}`{near}") from None
    if not callable(found):
        raise UsageError(f"target `{spec.name}`: `{spec.factory}` is not callable, so it is no factory")
    if _mismatch(found, (), {}):
        raise UsageError(
            f"target `{spec.name}`: the factory `{spec.factory}` takes arguments; it is called without any"
        )
    return made(found(), spec.name)


def made(given: object, name: str) -> Target:
    """What a factory gave, as a target."""
    if hasattr(given, "capture") and hasattr(given, "replay") and not isinstance(given, Sequence):
        return made((given,), name)
    if not isinstance(given, tuple) or not 1 <= len(given) <= 3:
        shape = f"a {type(given).__name__}" if not isinstance(given, tuple) else f"a tuple of {len(given)}"
        raise UsageError(
            f"target `{name}`: the factory gave {shape}; expected (callable, args), (callable, args, kwargs) "
            "or (runner, args) with `capture` and `replay`"
        )
    defaults: tuple[Any, ...] = (None, (), {})
    call, args, kwargs = (*given, *defaults[len(given) :])
    if isinstance(args, list):
        args = tuple(args)
    if not isinstance(args, tuple):
        args = (args,)
    if not isinstance(kwargs, Mapping):
        raise UsageError(f"target `{name}`: the third value of the factory is a {type(kwargs).__name__}, no dictionary")
    if hasattr(call, "capture") and hasattr(call, "replay"):
        return Target(call.capture, args, kwargs, call.replay, getattr(call, "eager", None))
    if not callable(call):
        raise UsageError(f"target `{name}`: the factory gave a {type(call).__name__}, which is not callable")
    mismatch = _mismatch(call, args, kwargs)
    if mismatch:
        raise UsageError(f"target `{name}`: the callable does not take the example arguments: {mismatch}")
    return Target(call, args, kwargs)


def _mismatch(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Why a call with these arguments cannot succeed; empty where it can, or where there is no signature to tell."""
    try:
        inspect.signature(call).bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    except ValueError:
        pass  # a builtin without a signature
    return ""


def _import(spec: Spec) -> ModuleType:
    if spec.path is None:
        try:
            return importlib.import_module(spec.module)
        except ModuleNotFoundError as error:
            if error.name and (spec.module == error.name or spec.module.startswith(f"{error.name}.")):
                raise UsageError(f"target `{spec.name}`: there is no module `{error.name}`") from None
            raise
    sys.path.insert(0, str(spec.path.parent.resolve()))
    found = importlib.util.spec_from_file_location(spec.module, spec.path.resolve())
    if found is None or found.loader is None:
        raise UsageError(f"target `{spec.name}`: {spec.path} cannot be imported")
    module = importlib.util.module_from_spec(found)
    sys.modules[spec.module] = module
    found.loader.exec_module(module)
    return module
