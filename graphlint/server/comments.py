"""A text, a line and a code in, the comment that suppresses the code there out."""

from __future__ import annotations

import ast
from typing import NamedTuple

from graphlint import suppression


class Insertion(NamedTuple):
    """A text to be put in: line and column count from 0."""

    line: int
    column: int
    text: str


def suppressing(source: str, line: int, code: str) -> Insertion | None:
    """What suppresses a finding that begins on a line, which counts from 1; None if no comment can stand there.

    It goes into the comment that is there, behind the line, or above it: wherever it changes nothing but that.
    """
    lines = source.splitlines(keepends=True)
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1].rstrip("\r\n")
    indent = text[: len(text) - len(text.lstrip())]
    end = "\r\n" if lines[line - 1].endswith("\r\n") else "\n"
    choices = [
        *_into_comment(source, line, text, code),
        Insertion(line - 1, len(text), f"  # graphlint: ignore[{code}]"),
        Insertion(line - 1, 0, f"{indent}# graphlint: ignore[{code}]{end}"),
    ]
    return next((one for one in choices if _holds(lines, one, line, code)), None)


def _into_comment(source: str, line: int, text: str, code: str) -> list[Insertion]:
    known = [one for one in suppression.parse(source) if one.line == line and one.codes and not one.flaw]
    return [Insertion(line - 1, text.index("]", one.column - 1), f", {code}") for one in known]


def _holds(lines: list[str], insertion: Insertion, line: int, code: str) -> bool:
    """Whether the comment covers the line, and the program is the same."""
    changed = lines.copy()
    old = changed[insertion.line]
    changed[insertion.line] = old[: insertion.column] + insertion.text + old[insertion.column :]
    source = "".join(changed)
    moved = line + (insertion.column == 0)
    try:
        is_same = ast.dump(ast.parse("".join(lines))) == ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    found = suppression.parse(source)
    return is_same and any(one.first <= moved <= one.last and code in one.codes and not one.flaw for one in found)
