"""The files of a program and changes of their text in, the changed files out, each line with the one it comes from."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Origin: TypeAlias = tuple[str, int]  # a file of the program as it was, and a line of it
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Assert, ast.Delete, ast.Raise)


@dataclass(frozen=True)
class Piece:
    """Text that a change puts in. Its lines come from one line, or from that one on if they are `moved` from there."""

    text: str
    origin: Origin
    moved: bool = False


@dataclass(frozen=True)
class Change:
    """What takes the place of the text between two offsets of a file; in a file that is new, both are 0."""

    path: str
    start: int
    end: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Edited:
    """A file as it is after the changes; `origins` has an entry for each line."""

    text: str
    origins: tuple[Origin, ...]


class Source:
    """One file of a program, as text, as tokens and as a tree."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @cached_property
    def tokens(self) -> list[tokenize.TokenInfo]:
        return list(tokenize.generate_tokens(io.StringIO(self.text).readline))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """All that have their lines for themselves, in order, without docstrings."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]
        alone = [node for node in found if not is_string(node) and self._stands_alone(node)]
        return sorted(alone, key=lambda node: node.lineno)

    @cached_property
    def simple(self) -> list[ast.stmt]:
        """The statements without a body; what a comment suppresses on their lines stays there."""
        return [s for s in self.statements if isinstance(s, _SIMPLE) and not self.suppresses(s)]

    @cached_property
    def strings(self) -> str:
        """The text of all string literals that are not docstrings."""
        docstrings = {s.lineno for s in ast.walk(self.tree) if isinstance(s, ast.stmt) and is_string(s)}
        kinds = ("STRING", "FSTRING_MIDDLE")
        found = (t for t in self.tokens if tokenize.tok_name[t.type] in kinds and t.start[0] not in docstrings)
        return "\n".join(token.string for token in found)

    def at(self, line: int, column: int) -> int:
        """The offset of a place, the column of which counts bytes, as those of trees do."""
        text = self.lines[line - 1]
        return self._starts[line - 1] + (column if text.isascii() else len(text.encode()[:column].decode()))

    def token_at(self, place: tuple[int, int]) -> int:
        """The offset of a place, the column of which counts characters, as those of tokens do."""
        return self._starts[place[0] - 1] + place[1]

    def line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno or 0, node.end_col_offset or 0)

    def moved(self, node: ast.expr | ast.stmt) -> Piece:
        """The text of a node, for another place."""
        return self.cut(*self.span(node))

    def cut(self, start: int, end: int) -> Piece:
        """The text between two offsets, for another place."""
        return Piece(self.text[start:end], (self.path, self.text.count("\n", 0, start) + 1), moved=True)

    def piece(self, text: str, node: ast.expr | ast.stmt) -> Piece:
        """New text, which belongs to a node."""
        return Piece(text, (self.path, node.lineno))

    def change(self, start: int, end: int, *pieces: Piece | str) -> Change:
        """Text that is given as such comes from the line where it is put in."""
        line = self.text.count("\n", 0, start) + 1
        made = tuple(p if isinstance(p, Piece) else Piece(p, (self.path, line)) for p in pieces)
        return Change(self.path, start, end, made)

    def around(self, node: ast.expr, before: str, after: str) -> list[Change]:
        start, end = self.span(node)
        return [self.change(start, start, before), self.change(end, end, after)]

    def before(self, node: ast.stmt, *pieces: Piece | str) -> Change:
        """Whole lines put in before a statement and its decorators."""
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        start = self.line_start(first)
        return self.change(start, start, *pieces)

    def indent(self, node: ast.stmt) -> str:
        return " " * node.col_offset

    def inside(self, node: ast.AST) -> Iterator[ast.AST]:
        """What a node stands in, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function_of(self, node: ast.AST) -> Function | None:
        """The function that a statement belongs to."""
        for parent in self.inside(node):
            if isinstance(parent, FUNCTIONS):
                return parent
            if isinstance(parent, (ast.ClassDef, ast.Lambda)):
                return None
        return None

    def class_of(self, function: Function) -> ast.ClassDef | None:
        parent = self.parents[function]
        return parent if isinstance(parent, ast.ClassDef) else None

    def top_level(self, node: ast.AST) -> ast.stmt:
        """The statement of the module that a node stands in."""
        for parent in (node, *self.inside(node)):
            if isinstance(self.parents.get(parent), ast.Module) and isinstance(parent, ast.stmt):
                return parent
        raise LookupError(node)

    def definitions(self) -> Iterator[Function]:
        """The functions of the module and of its classes."""
        for node in self.tree.body:
            for found in (node, *(node.body if isinstance(node, ast.ClassDef) else ())):
                if isinstance(found, FUNCTIONS):
                    yield found

    def has_long_string(self, node: ast.stmt) -> bool:
        """Whether a string in it goes over several lines, so that its lines cannot be indented."""
        strings = (n for n in ast.walk(node) if isinstance(n, (ast.Constant, ast.JoinedStr)))
        return any(s.end_lineno != s.lineno for s in strings)

    @cached_property
    def statement_lines(self) -> dict[int, int]:
        """For each line, the first line of the innermost statement, or head of one, that it belongs to."""
        found: dict[int, int] = {}
        for node in ast.walk(self.tree):  # outer ones come first
            if isinstance(node, (ast.stmt, ast.ExceptHandler)):
                found.update(dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), node.lineno))
        return found

    def _stands_alone(self, node: ast.stmt) -> bool:
        start, end = self.span(node)
        line_end = self.text.find("\n", end)
        rest = self.text[end : line_end if line_end >= 0 else None].strip()
        before = self.text[self.line_start(node.lineno) : start]
        return not before.strip() and (not rest or rest.startswith("#"))

    def suppresses(self, node: ast.stmt) -> bool:
        """Whether a comment on its lines suppresses findings."""
        return any("# graphlint:" in line for line in self.lines[node.lineno - 1 : node.end_lineno])


Sources: TypeAlias = tuple[Source, ...]


def is_string(node: ast.stmt) -> bool:
    """Whether a statement is a docstring, or a string that nobody reads."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def edited(sources: Sources, changes: Iterable[Change]) -> dict[str, Edited]:
    """The files by path, those that the changes make anew among them."""
    by_path: dict[str, list[Change]] = {source.path: [] for source in sources}
    for change in changes:
        by_path.setdefault(change.path, []).append(change)
    texts = {source.path: source.text for source in sources}
    return {path: _changed(path, texts.get(path, ""), found) for path, found in by_path.items()}


def _changed(path: str, text: str, changes: list[Change]) -> Edited:
    parts: list[Piece] = []
    position, line = 0, 1
    for change in sorted(changes, key=lambda change: (change.start, change.end)):
        assert position <= change.start, f"changes of {path} overlap at {text[change.start : change.end]!r}"
        kept = text[position : change.start]
        parts += [Piece(kept, (path, line), moved=True), *change.pieces]
        line += text.count("\n", position, change.end)
        position = change.end
    parts.append(Piece(text[position:], (path, line), moved=True))
    return Edited("".join(part.text for part in parts), tuple(_origins(parts)))


def _origins(parts: list[Piece]) -> Iterator[Origin]:
    """Where each line comes from: that is where the first text on it does."""
    current: Origin | None = None
    here = parts[0].origin
    for part in parts:
        path, line = part.origin
        for number, text in enumerate(part.text.split("\n")):
            before, here = here, (path, line + number if part.moved else line)
            if number:
                yield current or before
                current = None
            if current is None and text.strip():
                current = here
    yield current or here
