"""What is worked out of a text or a tree is worked out once in a run, and forgotten when the run is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

from graphlint.values import forget_unions

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_MOST = 100_000  # answers of one function, in a process that checks again and again
_FEW = 200  # of one whose answers are large
_forgets: list[Callable[[], None]] = []
_forgets_of_runs: list[Callable[[], None]] = [forget_unions]


def remembered(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, with its answers kept until `forget`, or until so many others were given."""
    kept = lru_cache(_MOST)(function)
    _forgets.append(kept.cache_clear)
    return cast(Callable[Parameters, Result], kept)


def remembered_shortly(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, with its last answers kept, for large ones that are asked for again at once."""
    kept = lru_cache(_FEW)(function)
    _forgets.append(kept.cache_clear)
    return cast(Callable[Parameters, Result], kept)


def remembered_in_run(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function, with its answers kept until the run is over, for one that looks at modules to find them."""
    kept = lru_cache(_MOST)(function)
    _forgets_of_runs.append(kept.cache_clear)
    return cast(Callable[Parameters, Result], kept)


def forget_run() -> None:
    """Forget what depends on more than the arguments: the next run has to look at that itself."""
    for clear in _forgets_of_runs:
        clear()


def forget() -> None:
    """Forget all answers: they are of no use to who looks at other files, and hold trees in memory."""
    forget_run()
    for clear in _forgets:
        clear()
