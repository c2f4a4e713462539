"""Answers to comparisons with counts in, between which numbers a limit lies that nobody knows out.

A run that has found a limit above a count finds it there later, too, and it is not above every count.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field

from graphlint.static.life.objects import Symbol, Thing

TIMES = 2  # that a count has been below its limit before it probably reaches it
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_ORDER: dict[str, Callable[[float, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq,
}  # fmt: skip
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass
class Bounds:
    """What one run has found out, of integers."""

    found: dict[object, tuple[float, float]] = field(default_factory=dict)

    def of(self, value: object) -> tuple[float, float]:
        return self.found.get(value, (-math.inf, math.inf))

    def answer(self, asked: tuple[object, ...]) -> bool | None:
        """What a comparison comes to; None if nobody knows."""
        comparison = _read(asked)
        if comparison is None:
            return None
        sign, value, number = comparison
        low, high = self.of(value)
        answers = {_ORDER[sign](one, number) for one in (low, high)}
        is_open = sign == "==" and (low < number < high or (low != high and number in (low, high)))
        return None if len(answers) > 1 or is_open else answers.pop()

    def learn(self, asked: tuple[object, ...], outcome: bool) -> None:
        """Remember what a comparison came to."""
        comparison = _read(asked)
        if comparison is None:
            return
        sign, value, number = comparison
        if not outcome:
            sign = _OPPOSITE.get(sign, "")
        low, high = self.of(value)
        step = 1 if sign in ("<", ">") else 0
        if sign in (">", ">=", "=="):
            low = max(low, number + step)
        if sign in ("<", "<=", "=="):
            high = min(high, number - step)
        self.found[value] = low, high

    def is_due(self, asked: tuple[object, ...]) -> bool:
        """Whether a count was below its limit often enough: calls that warm up have an end."""
        comparison = _read(asked)
        return comparison is not None and comparison[0] in (">", ">=") and self.of(comparison[1])[0] >= TIMES


def _read(asked: tuple[object, ...]) -> tuple[str, object, int] | None:
    """A comparison as one of something unknown with a number; None for others."""
    match asked:
        case (str(sign), ("int", int(number)), Symbol() | Thing() as value) if sign in _MIRRORED:
            return _MIRRORED[sign], value, number
        case (str(sign), Symbol() | Thing() as value, ("int", int(number))) if sign in _MIRRORED:
            return sign, value, number
    return None
