"""Texts and what is put into them in, the texts that may come of it out: names are made so, and looked up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from graphlint.values import MAX_MEMBERS, UNKNOWN, Const, Host, Value, members, union
from graphlint.values.bounds import MAX_TEXT

MAX_CHOICES = 1000  # of parts together: most of them would come to the same text
_PARTS = (str, int)


def combined(make: Callable[..., object], values: Sequence[Value]) -> Value:
    """What a function makes of texts and numbers, for each that they may be; just a text if they are not known."""
    choices = [_constants(value) for value in values]
    if not all(choices) or prod(map(len, choices)) > MAX_CHOICES:
        return Host("str")
    made: dict[Value, None] = {}
    for chosen in product(*choices):
        try:
            text = make(*chosen)
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, MemoryError):
            return Host("str")
        if not isinstance(text, str) or len(text) > MAX_TEXT or len(made) >= MAX_MEMBERS:
            return Host("str")
        made[Const(text)] = None
    return union(made)


def joined(*parts: object) -> str:
    """The parts as one text, as an f-string has them."""
    return "".join(map(str, parts))


def is_text(value: Value) -> bool:
    """Whether a value is one of some known texts."""
    return value != UNKNOWN and all(isinstance(m, Const) and isinstance(m.value, str) for m in members(value))


def _constants(value: Value) -> list[object]:
    """The texts and numbers that a value may be; nothing if it may be something else."""
    known: list[object] = [m.value for m in members(value) if isinstance(m, Const) and isinstance(m.value, _PARTS)]
    return known if len(known) == len(list(members(value))) else []
