"""What both ways to a compact form share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import groupby

from graphlint.static.syntax import ir


class Scope:
    """Gathers the names that a function reads, and whether it yields, while its body is lowered."""

    def __init__(self) -> None:
        self.loads: set[str] = set()
        self.yields = False

    def inner(self, lower: Callable[[], ir.Block]) -> tuple[ir.Block, frozenset[str], bool]:
        """A body, the names it reads and whether it yields; the function around it reads these names as well."""
        outer_loads, outer_yields = self.loads, self.yields
        self.loads, self.yields = set(), False
        body = lower()
        loads, yields = frozenset(self.loads), self.yields
        self.loads, self.yields = outer_loads | loads, outer_yields
        return body, loads, yields


def formatted(mark: ir.Mark, parts: Iterable[str | ir.Expr], plain: bool) -> ir.Formatted:
    """An f-string: texts side by side are one, and none is kept where they do not make up the whole."""
    kept: list[str | ir.Expr] = []
    for are_texts, group in groupby(parts, lambda part: isinstance(part, str)):
        if not are_texts:
            kept += group
        elif plain and (text := "".join(map(str, group))):
            kept.append(text)
    return ir.Formatted(mark, tuple(kept), plain)


def is_idle(value: ir.Expr) -> bool:
    """Whether an expression statement is a docstring or an ellipsis, which does nothing."""
    return isinstance(value, ir.Literal) and (value.value is ... or isinstance(value.value, (str, bytes)))
