"""Rows of tables and of configurations in, what regions call that the code does not tell out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from graphlint.globs import is_valid_glob

TARGET = ("at", "runs", "call")
TARGET_REQUIRED = ("at", "runs")


@dataclass(frozen=True, slots=True)
class Target:
    """What a call runs that nobody knows the callee of: in the function `at`, the functions that `runs` names.

    All are patterns, `module:qualname`. `call` is how the callee is spelt, where there are several.
    """

    at: str
    runs: tuple[str, ...]
    call: str | None = None


def pattern_mistake(pattern: str) -> str:
    """What is wrong with a pattern of names, if anything is."""
    if not re.fullmatch(r"[^\s:]+:[^\s:]+", pattern):
        return f"`{pattern}` is not `module:qualname`, as in `pkg.model:Decoder.step`"
    if not all(is_valid_glob(side) for side in pattern.split(":")):
        return f"`{pattern}` is not a valid glob"
    return ""


def call_mistake(call: str) -> str:
    """What is wrong with the spelling of a callee, if anything is."""
    if not all(part.isidentifier() for part in call.split(".")):
        return f"`{call}` is not how a callee is spelt, as `self.model` is"
    return ""
