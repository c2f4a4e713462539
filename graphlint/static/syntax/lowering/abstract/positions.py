"""Where nodes of `ast` stand: in characters, and without the round brackets of tuples and generators, as in libcst."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, takewhile
from typing import TypeAlias

from graphlint.static.syntax.ir import Pos
from graphlint.static.syntax.trees import nodes_in

Placed: TypeAlias = ast.expr | ast.stmt | ast.pattern
Key: TypeAlias = "Placed | int"  # a node, or where it begins and ends: trees take much more memory than that

_BITS = 32  # of a line, and of a column
_MASK = (1 << _BITS) - 1
_TOKEN = re.compile(r"#[^\n]*|[^\s\\]")  # of what may stand around an element, which is punctuation


class Misplaced(Exception):
    """`ast` does not know where a node stands."""


def key_of(node: Placed) -> Key:
    """What tells where a node stands: a number, or the node itself where its place has to be looked for."""
    line, column, end_line, end_column = node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
    if end_line is None or end_column is None or isinstance(node, (ast.Tuple, ast.MatchSequence, ast.GeneratorExp)):
        return node
    return ((line << _BITS | column) << _BITS | end_line) << _BITS | end_column


class Positions:
    """The places of the nodes of a text by `key_of` them; nodes count lines from `first_line`."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self.is_known = False

    def __getitem__(self, node: Key, /) -> Pos:
        self.is_known = True
        if isinstance(node, int):
            line, column, end_line, end_column = (node >> _BITS * part & _MASK for part in (3, 2, 1, 0))
            return *self._place(self._offset(line, column)), *self._place(self._offset(end_line, end_column))
        start, end = self._span(node)
        if isinstance(node, ast.GeneratorExp) or self.is_bracketed(node):
            start, end = self._inside(node, start, end)
        return *self._place(start), *self._place(end)

    def is_bracketed(self, node: Placed) -> bool:
        """Whether this is a tuple in round brackets, which are not those of its first element."""
        start, end = self._span(node)
        if not isinstance(node, (ast.Tuple, ast.MatchSequence)) or self._text[start] != "(":
            return False
        if not (parts := _parts(node)):
            return True
        first, behind = self._span(parts[0])
        opened = sum(token[0] == "(" for token in self._tokens(start, first))
        return opened > len(self._closing(")", behind, end))

    def check_names(self, node: ast.expr) -> None:
        """Raise Misplaced if names in a part of an f-string stand elsewhere, as Python before 3.12 may have it."""
        for part in nodes_in(node):
            if isinstance(part, ast.Name):
                start, end = self._span(part)
                if self._text[start:end] != part.id:
                    raise Misplaced

    def _inside(self, node: Placed, start: int, end: int) -> tuple[int, int]:
        """What stands between the brackets of a node."""
        if not (parts := _parts(node)):
            return end - 1, end - 1
        _, behind = self._span(parts[-1])
        closing = self._closing("),", behind, end - 1)
        return next(self._tokens(start + 1, end)).start(), closing[-1].end() if closing else behind

    def _span(self, node: Placed) -> tuple[int, int]:
        """Where a node begins and ends in the text."""
        start = self._offset(node.lineno, node.col_offset)
        if node.end_lineno is not None and node.end_col_offset is not None:
            return start, self._offset(node.end_lineno, node.end_col_offset)
        # The first operands of a chain of `and` or `or`, which are no node of the tree.
        _, behind = self._span(_parts(node)[-1])
        closing = self._closing(")", behind, len(self._text))
        return start, closing[-1].end() if closing else behind

    def _closing(self, kinds: str, start: int, end: int) -> list[re.Match[str]]:
        """The brackets that close behind an element, and commas if these are asked for as well."""
        return list(takewhile(lambda token: token[0] in kinds, self._tokens(start, end)))

    def _tokens(self, start: int, end: int) -> Iterator[re.Match[str]]:
        return (token for token in _TOKEN.finditer(self._text, start, end) if token[0][0] != "#")

    @cached_property
    def _lines(self) -> list[str]:
        return self._text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def _offset(self, line: int, column: int) -> int:
        """Where the text has what `ast` places by a line from 1 and a column in bytes."""
        if not self._text.isascii():
            column = len(self._lines[line - self._first_line].encode()[:column].decode())
        return self._starts[line - self._first_line] + column

    def _place(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset) - 1
        return line, offset - self._starts[line]


def _parts(node: Placed) -> Sequence[Placed]:
    """What stands in a node that may be placed by it, the first and the last at least."""
    match node:
        case ast.Tuple():
            return node.elts
        case ast.MatchSequence():
            return node.patterns
        case ast.BoolOp():
            return node.values
        case ast.GeneratorExp():
            last = node.generators[-1]
            return [node.elt, *([last.ifs[-1]] if last.ifs else [last.iter])]
    return ()
