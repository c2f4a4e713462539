"""Source in, its outline out: what an index of a module needs, at a third of the cost of parsing it whole."""

from __future__ import annotations

import re

_FUNCTION = re.compile(r"(?:async\s+)?def\s+(\w+)")
_QUOTES = ('"""', "'''")


def outline(text: str) -> str | None:
    """The source with each function shrunk to a first and a last line, and every line where it stood.

    A function ends before the next line of code that is not indented deeper. None if one ends inside a string, whose
    lines may be indented as they like; what is cut short otherwise is left with a bracket or an indentation that no
    parser accepts.
    """
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = lines[number]
        code = line.lstrip()
        found = _FUNCTION.match(code) if code.startswith(("def", "async")) else None
        first, number = number, number + 1
        if found is None:
            continue
        indent = len(line) - len(code)
        last = first
        while number < len(lines):
            line = lines[number]
            code = line.lstrip()
            if code and code[0] != "#":
                if len(line) - len(code) <= indent and code[0] not in ")]}" and lines[number - 1][-1:] != "\\":
                    break
                last = number
            number += 1
        if last == first:
            continue
        function = "\n".join(lines[first : last + 1])
        if any(function.count(quotes) % 2 for quotes in _QUOTES):
            return None
        lines[first] = f"{lines[first][:indent]}def {found[1]}():"
        lines[first + 1 : last] = [""] * (last - first - 1)
        lines[last] = " " * (indent + 1) + "pass"
    return "\n".join(lines)
