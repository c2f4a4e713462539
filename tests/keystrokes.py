"""A source text in, what somebody types into its functions out: each keystroke, and the one that takes it back."""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_WORD = re.compile(r"\w+")


class Keystroke(NamedTuple):
    """What kind of edit it is, whether it is `taken_back`, the line that it changes, and the text from then on."""

    kind: str
    taken_back: bool
    line: int
    text: str


def arguments(description: str | None, number: int) -> argparse.Namespace:
    """What a tool is given that types so many of them, unless it is told otherwise."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("file", help="a file below the project")
    parser.add_argument("number", type=int, nargs="?", default=number)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    return parser.parse_args()


def keystrokes(text: str, chance: random.Random, number: int) -> Iterator[Keystroke]:
    """So many edits at random places inside of functions; every second one takes back the one before."""
    lines = text.split("\n")
    places = sorted(_inside_functions(text))
    kinds = {"character": _character, "comment": _comment, "line": _line, "statement": _statement}
    for _ in range(number // 2):
        kind, at = chance.choice(sorted(kinds)), chance.choice(places)
        changed = kinds[kind](lines[at - 1], chance)
        yield Keystroke(kind, False, at, "\n".join((*lines[: at - 1], changed, *lines[at:])))
        yield Keystroke(kind, True, at, text)


def _inside_functions(text: str) -> set[int]:
    """The lines of code in bodies."""
    bodies = (node.body for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    return {
        line
        for body in bodies
        for statement in body
        for line in range(statement.lineno, (statement.end_lineno or 0) + 1)
        if text.split("\n")[line - 1].strip()
    }


def _character(line: str, chance: random.Random) -> str:
    """A name gets one more character: it is another one, or none that anybody knows."""
    word = chance.choice([*_WORD.finditer(line)] or [re.search("$", line)])
    assert word is not None
    return line[: word.end()] + chance.choice("abx_.(1") + line[word.end() :]


def _comment(line: str, chance: random.Random) -> str:
    return f"{line}  # {chance.choice('abc')}"


def _line(line: str, chance: random.Random) -> str:
    return f"{line}\n"


def _statement(line: str, chance: random.Random) -> str:
    """A statement above, as one begins it."""
    return f"{line[: len(line) - len(line.lstrip())]}{chance.choice('abc')} = 1\n{line}"
