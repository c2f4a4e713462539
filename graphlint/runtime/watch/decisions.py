"""A run in, what the host decided about each operator of the device out: which one, with which numbers and shapes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from graphlint.runtime.trace.modes import DispatchMode, is_composite
from graphlint.runtime.trace.operators import Call, Traced, tensors
from graphlint.runtime.trace.places import Stack, user_stack


class Decisions(DispatchMode):
    """Takes them down in order in `made`, with the lines of the program if they are to be `located`."""

    def __init__(self, *, located: bool) -> None:
        super().__init__()
        self.located = located
        self.made: list[Traced] = []

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        if is_composite(func):
            with self:
                return func.decompose(*args, **(kwargs or {}))
        call = Call(func, args, kwargs or {})
        result = func(*args, **call.kwargs)
        self.made += decided(call, result, user_stack(sys._getframe()) if self.located else ())
        return result


def decided(call: Call, result: object, stack: Stack) -> list[Traced]:
    """What the host decided about an operator; nothing for one that stays on the host."""
    results = tensors(result)
    if not any(one.is_cuda for one in (*results, *call.tensors)):
        return []
    numbers = tuple(map(repr, call.numbers))  # as text, in which NaN equals NaN
    shapes = tuple((one.shape, one.dtype) for one in results)
    return [Traced(call.name, stack, (*numbers, *shapes), [], draws=call.operator.draws)]
