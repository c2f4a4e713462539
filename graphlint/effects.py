"""The rows of a table that say what calls do under capture in, effects with their conditions out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphlint.finding import Confidence


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold of one argument.

    `argument` is a parameter's name, `*` (any argument, the receiver included), or `x.y`: what the call that made the
    object bound to `x` was given as `y`. A list, tuple or dict display counts as device, host, tensor or bool if one of
    its elements does; where values are known, all that a row asks of one argument holds of one and the same element.
    The answer is yes, no or maybe.

    absent, given         left out or None; the opposite
    none                  None was passed
    true, not-true        a true constant; left out or anything but a true constant
    false, not-false      a false constant; left out or anything but a false constant
    equals                a constant, or a name of torch, that is spelled as one of `value`, which `|` separates
    same                  a constant, equal to that of the argument that `value` names
    negative              a constant below zero
    device, host          a tensor on the device; a tensor on the host
    tensor, not-tensor    a tensor; given, and no tensor: numbers, lists, arrays
    number                a Python number, but no boolean
    sequence, not-sequence      a list or tuple; given, and neither
    several               a list or tuple of more than one that is not None
    bool, not-bool        a mask: a tensor of booleans; a tensor of another dtype
    cuda, cpu             names a device of that type: a string, `torch.device`, index (cuda), tensor type or tensor
    pinned, not-pinned    a host tensor in page-locked memory; a host tensor elsewhere
    fresh                 made inside the capture region
    distinct              another object than the argument that `value` names
    not-dtype             a tensor of another dtype than `value`
    many                  has at least as many elements as `value` says: a number, or `a*x^b` for another argument x
    long                  has more elements than `value` along the dimension that the argument `dim` names, or the last
    sparse                a tensor of coordinates and values
    batched, oblong       more matrices than one; matrices that are not square
    within, outside       (of a context manager or a capture that torch does not know of, not of an argument) the call
                          stands inside it; it does not
    """

    predicate: str
    argument: str
    value: str | None = None


_SIZE = re.compile(r"(?P<number>[\d.]+)(?:\*(?P<argument>\w+)\^(?P<power>[\d.]+))?")
_SURROUNDING = ("within", "outside")  # the predicates that do not speak of an argument
_VALUED = frozenset({"equals", "same", "distinct", "not-dtype", "many", "long"})
PREDICATES = _VALUED | {
    "absent", "given", "none", "true", "not-true", "false", "not-false", "negative", "device", "host", "tensor",
    "not-tensor", "number", "sequence", "not-sequence", "several", "bool", "not-bool", "cuda", "cpu", "pinned",
    "not-pinned", "fresh", "sparse", "batched", "oblong", "within", "outside",
}  # fmt: skip
_KEYS = frozenset({"effect", "when", "confidence", "help", "message", "proof", "assumed", "example"})
_ALWAYS = "always"
_ANYTHING = "device:*"  # the condition of a row without one


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens under capture if all conditions hold; without conditions it always happens.

    It `is_implied` if no row says so, but the kind of result or the type of a parameter.
    """

    name: str
    when: tuple[Condition, ...] = ()
    confidence: Confidence = Confidence.HIGH
    help: str | None = None
    message: str | None = None
    is_implied: bool = False


def effect(row: Mapping[str, str]) -> Effect:
    """The effect of one row, which is a valid one."""
    confidence = Confidence[row.get("confidence", "high").upper()]
    return Effect(row["effect"], conditions(row), confidence, row.get("help"), row.get("message"))


def conditions(row: Mapping[str, str]) -> tuple[Condition, ...]:
    """What a row asks for."""
    when = row.get("when", _ANYTHING)
    return () if when == _ALWAYS else tuple(_condition(text) for text in when.split())


def size(value: str, elements: Mapping[str, int]) -> float:
    """The number of elements that `many` or `long` compares with, given those of the other arguments."""
    match = _SIZE.fullmatch(value)
    assert match is not None, value  # rows are valid
    number = float(match["number"])
    return number * elements.get(match["argument"], 0) ** float(match["power"]) if match["argument"] else number


def mistake(rows: object) -> str:
    """What is wrong with the first row that means nothing; empty if all mean something."""
    if not isinstance(rows, list) or not rows:
        return "a list of effects is expected"
    return next(filter(None, map(_mistake_of, rows)), "")


def _mistake_of(row: Any) -> str:
    if not isinstance(row, dict) or not all(isinstance(value, str) for value in row.values()):
        return "an effect is a table of strings"
    unknown = sorted(row.keys() - _KEYS)
    if unknown:
        return f"unknown key `{unknown[0]}`"
    if "effect" not in row:
        return "`effect` is missing"
    if "proof" not in row and "assumed" not in row:
        return "neither `proof` nor `assumed` says how it is known"
    if row.get("confidence", "high").upper() not in Confidence.__members__:
        return f"`confidence` is not `{row['confidence']}`"
    return next(filter(None, (_mistake_in(one) for one in conditions(row))), "")


def _mistake_in(condition: Condition) -> str:
    if condition.predicate not in PREDICATES:
        return f"unknown predicate `{condition.predicate}`"
    if not condition.argument:
        return f"`{condition.predicate}` is asked of no argument"
    if (condition.value is not None) != (condition.predicate in _VALUED):
        return f"`{condition.predicate}` takes {'a' if condition.predicate in _VALUED else 'no'} value"
    is_counted = condition.predicate in ("many", "long")
    if is_counted and not _SIZE.fullmatch(condition.value or ""):
        return f"`{condition.value}` is no number of elements"
    return ""


def asked(rows: list[dict[str, str]]) -> set[str]:
    """The parameters that rows speak of."""
    found = {one for row in rows for one in conditions(row) if one.predicate not in _SURROUNDING}
    return {one.argument.partition(".")[0] for one in found} - {"*"}


def _condition(text: str) -> Condition:
    predicate, _, argument = text.partition(":")
    name, equals, value = argument.partition("=")
    return Condition(predicate, name, value if equals else None)
