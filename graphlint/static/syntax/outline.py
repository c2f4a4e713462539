"""Source in, its outline out: what an index of a module needs, at a quarter of the cost of parsing it whole."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_KEPT = 64  # outlines
_FUNCTION = re.compile(r"(?:async\s+)?def\s+(\w+)")
_QUOTES = ('"""', "'''")


class Outline(NamedTuple):
    """The text that is left, and the first and the last line of each function that was shrunk."""

    text: str
    functions: tuple[tuple[int, int], ...]


@lru_cache(_KEPT)
def outline(text: str) -> Outline | None:
    """The source with each function shrunk to a first and a last line, and every line where it stood.

    A function ends before the next line of code that is not indented deeper. None if one ends inside a string, whose
    lines may be indented as they like; what is cut short otherwise is left with a bracket or an indentation that no
    parser accepts.
    """
    lines = text.split("\n")
    number, functions = 0, []
    while number < len(lines):
        first = last = number
        code = lines[first].lstrip()
        found = _FUNCTION.match(code) if code.startswith(("def", "async")) else None
        if found is not None:
            indent = len(lines[first]) - len(code)
            last = _last_line(lines, first, indent)
            if last > first:
                function = "\n".join(lines[first : last + 1])
                if any(function.count(quotes) % 2 for quotes in _QUOTES):
                    return None
                lines[first] = f"{lines[first][:indent]}def {found[1]}():"
                lines[first + 1 : last] = [""] * (last - first - 1)
                lines[last] = " " * (indent + 1) + "pass"
                functions.append((first + 1, last + 1))
        number = last + 1
    return Outline("\n".join(lines), tuple(functions))


def _last_line(lines: list[str], first: int, indent: int) -> int:
    """The last line of code of the function that begins at a line with that indentation."""
    last = first
    for number in range(first + 1, len(lines)):
        code = lines[number].lstrip()
        if not code or code[0] == "#":
            continue
        is_deeper = len(lines[number]) - len(code) > indent
        if not is_deeper and code[0] not in ")]}" and lines[number - 1][-1:] != "\\":
            break
        last = number
    return last
