"""A libcst tree in, the place of every node out: what `PositionProvider` answers, at a quarter of its cost.

libcst keeps no positions: they come from writing the tree out again and watching how far the text has got. Its provider
does that with two objects for each place, a line search for each token and a record of every blank; this one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, cast

import libcst as cst
from libcst._nodes.internal import CodegenState

from graphlint.static.syntax.ir import Pos


class Positions:
    """The places of the nodes of a tree by their `id`, worked out for the first that is asked for."""

    def __init__(self, module: cst.Module, first_line: int) -> None:
        self._tree: tuple[cst.Module, int] | None = (module, first_line)
        self._found: Mapping[int, Pos] = {}

    @property
    def is_known(self) -> bool:
        """Whether they need not be worked out any more."""
        return self._tree is None

    def __getitem__(self, number: int, /) -> Pos:
        if self._tree is not None:
            self._found, self._tree = positions(*self._tree), None
        return self._found[number]


def positions(module: cst.Module, first_line: int) -> Mapping[int, Pos]:
    """The places of the nodes by their `id`, without the blanks around them; the first line gets that number."""
    recorder = _Recorder(module, first_line)
    for part in (*module.header, *module.body):
        part._codegen(cast(CodegenState, recorder))
    return recorder.places


class _Recorder:
    """What a tree writes itself to: counts lines and columns, and notes where a node begins and ends.

    It is also the context manager around each node, since these close in the order in which they opened.
    """

    def __init__(self, module: cst.Module, first_line: int) -> None:
        self.default_indent = module.default_indent
        self.default_newline = module.default_newline
        self.places: dict[int, Pos] = {}
        self.line, self.column = first_line, 0
        self.indents: list[str] = []
        self.open: list[tuple[cst.CSTNode, int, int, cst.CSTNode | None]] = []

    def increase_indent(self, value: str) -> None:
        self.indents.append(value)

    def decrease_indent(self) -> None:
        self.indents.pop()

    def add_indent_tokens(self) -> None:
        for indent in self.indents:
            self.column += len(indent)

    def add_token(self, value: str) -> None:
        if "\n" in value:
            self.line += value.count("\n")
            self.column = len(value) - value.rindex("\n") - 1
        else:
            self.column += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None: ...

    def after_codegen(self, node: cst.CSTNode) -> None: ...

    def record_syntactic_position(
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> Self:
        self.open.append((node, self.line, self.column, end_node))
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        node, line, column, end_node = self.open.pop()
        # A statement ends with its last inner statement, which writes blank lines and comments behind its end.
        end = self.places.get(id(end_node))
        end_line, end_column = (self.line, self.column) if end is None else end[2:]
        self.places[id(node)] = (line, column, end_line, end_column)
