"""An exception of a program in, what it tells of a capture out."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterator

from graphlint.errors import UsageError
from graphlint.runtime.trace.capture import Refusal
from graphlint.runtime.trace.places import COMPILES, Stack, is_user_code, to_compiled, traceback_stack
from graphlint.runtime.watch.recorder import first_line


def first_of(error: BaseException) -> BaseException:
    """The first of a chain of exceptions is the cause, the later ones tell of its consequences."""
    return list(chain(error))[-1]


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def unmodelled(error: BaseException | None) -> UsageError | None:
    """Why a target cannot be looked at, if an exception comes of that; torch wraps what fails while it compiles."""
    return next((one for one in chain(error) if isinstance(one, UsageError)), None)


def is_own(error: BaseException) -> bool:
    """Whether code of the program raised it, and not a library that it calls; PyTorch's half in C++ has no frames."""
    error = first_of(error)
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and is_user_code(frames[-1].filename) and type(error).__module__ != "torch"


def told(error: BaseException) -> str:
    """An exception in words, with the line that raised it."""
    error = first_of(error)
    said = f"{type(error).__name__}: {first_line(error)}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{said}; raised at {frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name}" if frames else said


def raised(error: BaseException, outer: Stack = ()) -> Refusal:
    """An exception as a refusal; one of the compiler is that of the line that calls what is compiled."""
    first = first_of(error)
    frames = [frame for frame, _ in traceback.walk_tb(first.__traceback__)]
    inner = itertools.takewhile(lambda frame: not is_user_code(frame.f_code.co_filename), reversed(frames))
    names = tuple(f"{frame.f_globals.get('__name__')}:{frame.f_code.co_qualname}" for frame in inner)
    said = f"{type(first).__name__}: {first_line(first)}"
    stack = traceback_stack(first.__traceback__) or traceback_stack(error.__traceback__)
    passed = {frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)}
    if COMPILES not in passed:
        return Refusal("", said, (*stack, *outer[1:]), names)
    return Refusal("", said, (*to_compiled(stack), *outer[1:]), names, effect="capture-refused")
