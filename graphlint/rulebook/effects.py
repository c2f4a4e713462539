"""The rows of a table that say what calls do under capture in, effects with their conditions out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    fresh, not-fresh      made inside the capture region; there before it
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

    @property
    def parameters(self) -> tuple[str, ...]:
        """Those that it speaks of, `*` for all."""
        if self.predicate in SURROUNDING:
            return ()
        match = SIZE.fullmatch(self.value or "") if self.predicate in COUNTED else None
        other = self.value if self.predicate in RELATIVE else match["argument"] if match is not None else None
        return (self.argument.partition(".")[0], *([other] if other else []))


RELATIVE = frozenset({"same", "distinct"})  # their values name another argument
COUNTED = frozenset({"many", "long"})  # their values are numbers of elements
VALUED = RELATIVE | COUNTED | {"equals", "not-dtype"}
SURROUNDING = frozenset({"within", "outside"})  # they speak of no argument
PREDICATES = VALUED | SURROUNDING | {
    "absent", "given", "none", "true", "not-true", "false", "not-false", "negative", "device", "host", "tensor",
    "not-tensor", "number", "sequence", "not-sequence", "several", "bool", "not-bool", "cuda", "cpu", "pinned",
    "not-pinned", "fresh", "not-fresh", "sparse", "batched", "oblong",
}  # fmt: skip
SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?:\*(?P<argument>\w+)\^(?P<power>\d+(?:\.\d+)?))?")
ALWAYS = "always"
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
    return () if when == ALWAYS else tuple(condition(text) for text in when.split())


def condition(text: str) -> Condition:
    """`predicate:argument=value`, as a row has it, taken apart."""
    predicate, _, argument = text.partition(":")
    name, equals, value = argument.partition("=")
    return Condition(predicate, name, value if equals else None)


def size(value: str, elements: Mapping[str, int]) -> float:
    """The number of elements that `many` or `long` compares with, given those of the other arguments."""
    match = SIZE.fullmatch(value)
    assert match is not None, value  # rows are valid
    number = float(match["number"])
    return number * elements.get(match["argument"], 0) ** float(match["power"]) if match["argument"] else number
