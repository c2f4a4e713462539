"""The module of operands in, its imports and the lines that a statement needs out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_OPERANDS = Path(__file__).with_name("operands.py")


@dataclass(frozen=True)
class Line:
    """A line that makes an operand, or does something with it: `operand` is the name that it begins with."""

    operand: str
    text: str
    names: frozenset[str]


def names_in(text: str) -> frozenset[str]:
    """The names that stand in a piece of source."""
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


@cache
def imports() -> tuple[str, ...]:
    """The import statements, which every statement has the names of."""
    return tuple(ast.unparse(node) for node in _statements() if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def lines() -> tuple[Line, ...]:
    """Every line that belongs to an operand, in order."""
    texts = [ast.unparse(node) for node in _statements() if not isinstance(node, ast.Import | ast.ImportFrom)]
    return tuple(Line(name[0], text, names_in(text)) for text in texts if (name := re.match(r"[a-z]\w*", text)))


def needed(names: Iterable[str]) -> list[Line]:
    """The lines of the operands among some names, and of what these are made of."""
    wanted, found = set(names), []
    for line in reversed(lines()):
        if line.operand in wanted:
            wanted |= line.names
            found.append(line)
    return found[::-1]


def _statements() -> list[ast.stmt]:
    return ast.parse(_OPERANDS.read_text("utf-8")).body
