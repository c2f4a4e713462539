"""A span in, the source lines around it with carets under it out."""

from __future__ import annotations

import tokenize
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphlint.finding import Span
from graphlint.report.escaping import UNSEEN, obeyed_by_none
from graphlint.report.place import leads_away

CONTEXT = 1
LONGEST = 7
WIDTH = 120
LEAD = 40
TAB = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a frame: its number in the margin, and either source or the carets below it."""

    margin: str
    text: str
    is_caret: bool = False


def source_lines(path: Path, base: Path) -> tuple[str, ...]:
    """The lines of a source file, as far as they can be decoded; none where the file cannot be read.

    A link that leads out of the project may lead to anything, which is not for whoever reads the report.
    """
    try:
        if not path.is_file() or leads_away(path, base):
            return ()
        data = path.read_bytes()
    except OSError:
        return ()
    try:
        encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
        text = data.decode(encoding, errors="replace")
    except (SyntaxError, LookupError, UnicodeError):
        text = data.decode("utf-8", errors="replace")
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def code_frame(span: Span, lines: Sequence[str]) -> list[Row]:
    """The lines of the span with carets under them, and their neighbours; the middle of a long span is left out."""
    if not 1 <= span.line <= len(lines):
        return []
    last = min(max(span.line, span.end_line), len(lines))
    hidden = range(0)
    if last - span.line >= LONGEST:
        hidden = range(span.line + LONGEST // 2, last - LONGEST // 2 + 1)
    rows: list[Row] = []
    for number in range(max(1, span.line - CONTEXT), min(len(lines), last + CONTEXT) + 1):
        line = obeyed_by_none(lines[number - 1].rstrip())
        if number in hidden:
            rows += [Row("...", "")] if number == hidden[0] else []
        elif span.line <= number <= last:
            rows += marked(line, number, span)
        elif line:
            rows.append(Row(str(number), cells(clip(line, 0)[0])))
    return rows


def marked(line: str, number: int, span: Span) -> list[Row]:
    """A line of the span, and carets under what the span covers of it."""
    indent = len(line) - len(line.lstrip())
    start = max(span.column - 1, indent) if number == span.line else indent
    end = span.end_column - 1 if number == max(span.line, span.end_line) and span.end_column else len(line)
    shown, cut = clip(line, start)
    before = width(shown[: max(start - cut, 0)])
    covered = width(shown[: max(end - cut, 0)]) - before
    row = Row(str(number), cells(shown))
    return [row, Row("", " " * before + "^" * max(covered, 1), is_caret=True)] if line else [row]


def clip(line: str, start: int) -> tuple[str, int]:
    """The part of a long line around column `start`, and how many characters are missing before it."""
    cut = max(0, start - LEAD) if len(line) > WIDTH and start > WIDTH - LEAD else 0
    shown = line[cut : cut + WIDTH]
    if cut:
        shown = f"…{shown[1:]}"
    if cut + WIDTH < len(line):
        shown = f"{shown[:-1]}…"
    return shown, cut


def cells(text: str) -> str:
    """The text as a terminal can show it: tabs as spaces, control characters replaced."""
    return "".join(cell for cell, _ in cells_of(text))


def width(text: str) -> int:
    """The number of terminal columns that the text takes."""
    return sum(columns for _, columns in cells_of(text))


def cells_of(text: str) -> Iterator[tuple[str, int]]:
    column = 0
    for character in text:
        shown, columns = character, 1
        if character == "\t":
            columns = TAB - column % TAB
            shown = " " * columns
        elif unicodedata.category(character) in ("Mn", "Me"):
            columns = 0
        elif unicodedata.east_asian_width(character) in "WF":
            columns = 2
        elif not character.isprintable():
            shown = UNSEEN
        yield shown, columns
        column += columns
