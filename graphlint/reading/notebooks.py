"""A notebook in, the source of one module out: its cells one below the other, with the cell that each line is of.

What IPython takes and Python does not is passed over, and every line stays in its place.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

SUFFIX = ".ipynb"

_PYTHON = ("capture", "debug", "prun", "pypy", "python", "python3", "time", "timeit")  # what `%%` runs as Python
_CELL_MAGIC = re.compile(r"\s*%%(\w*)[^\n]*")
_LINE_MAGIC = re.compile(  # `%magic`, `!command`, `x = !command`, `?name`, `name?`
    r"([ \t]*)(?:(\w[\w., \t\[\]]*=[ \t]*)?[%!](?!=)(?:\\\n|[^\n])*|\?[^\n]*|[%\w.*]+\?{1,2}[ \t]*(?=\n|\Z))"
)
_TOKEN = re.compile(  # what decides whether a line of code ends where the line does
    r"""(?P<quotes>\"{3}|'{3})(?:\\.|(?!(?P=quotes)).)*(?:(?P=quotes)|\Z)"""
    r"""|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*|\\\n|[\[\](){}\n]""",
    re.DOTALL,
)


class Notebook(NamedTuple):
    """The source, and the cells of code by the line that each begins at and its number among all cells."""

    text: str
    cells: tuple[tuple[int, int], ...]

    def place(self, line: int) -> tuple[int, int]:
        """The number of the cell that a line of the source lies in, and the line there; both count from 1."""
        first, number = self.cells[max(bisect_right(self.cells, (line + 1,)) - 1, 0)] if self.cells else (1, 1)
        return number, line - first + 1

    def lines(self, number: int) -> list[str]:
        """The lines of a cell."""
        first = next((first for first, cell in self.cells if cell == number), 1)
        end = next((first for first, cell in self.cells if cell > number), None)
        return self.text.split("\n")[first - 1 : end and end - 1]


def parse(data: bytes) -> Notebook:
    """Read a notebook of Python; one of another language has no source. Raises ValueError for what is none."""
    import json  # takes a while, and few projects have notebooks

    try:
        document = json.loads(data)
        cells = list(_cells(document)) if _is_python(document) else []
    except (AttributeError, LookupError, TypeError, RecursionError) as problem:
        raise ValueError("it does not have the form of one") from problem
    parts, places, line = [], [], 1
    for number, source in cells:
        parts.append(source)
        places.append((line, number))
        line += source.count("\n")
    return Notebook("".join(parts), tuple(places))


def _is_python(document: Any) -> bool:
    about = document.get("metadata", {})
    told = about.get("language_info", {}).get("name") or about.get("kernelspec", {}).get("language")
    return (told or "python") in ("python", "ipython")


def _cells(document: Any) -> Iterator[tuple[int, str]]:
    """The number and the source of each cell of code; before version 4, cells lay in worksheets."""
    cells = document["cells"] if "cells" in document else document["worksheets"][0]["cells"]
    for number, cell in enumerate(cells, 1):
        if cell["cell_type"] == "code":
            source = cell["source"] if "source" in cell else cell["input"]
            yield number, _plain("".join(source).replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n")


def _plain(cell: str) -> str:
    """The cell as Python."""
    magic = _CELL_MAGIC.match(cell)
    if magic is not None:
        passed = magic.end() if magic[1] in _PYTHON else len(cell)
        cell = "\n" * cell.count("\n", 0, passed) + cell[passed:]
    parts, at = [], 0
    while at < len(cell):
        magic = _LINE_MAGIC.match(cell, at)
        end = magic.end() if magic is not None else _end(cell, at)
        parts.append(cell[at:end] if magic is None else _stand_in(magic))
        at = end
    return "".join(parts)


def _stand_in(magic: re.Match[str]) -> str:
    """A statement that binds what a magic does, to nothing that is known."""
    indent, target = magic[1], magic[2]
    return indent + (f"{target}get_ipython()" if target else "pass") + "\n" * magic[0].count("\n")


def _end(cell: str, at: int) -> int:
    """Where the line of code ends that begins there: brackets and strings go on over lines."""
    depth = 0
    for token in _TOKEN.finditer(cell, at):
        if token[0] == "\n" and depth == 0:
            return token.end()
        depth = max(0, depth + (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}")))
    return len(cell)
