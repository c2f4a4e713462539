"""What source looks like: what an index takes, which methods a function calls."""

from __future__ import annotations

from collections.abc import Collection

from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in


def calls_method(code: ir.Code, names: Collection[str]) -> bool:
    """Whether a function calls a method of one of these names on one of its ways."""
    return any(isinstance(call.func, ir.Attribute) and call.func.attr in names for call in calls_in(code))


def is_sliced(index: ir.Expr) -> bool:
    """Whether an index holds a slice or an ellipsis, as only those of tensors, arrays and lists do."""
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return any(isinstance(part, ir.Slice) or (isinstance(part, ir.Literal) and part.value is ...) for part in parts)


def slices(index: ir.Expr) -> list[ir.Slice]:
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return [part for part in parts if isinstance(part, ir.Slice)]


def takes_all(index: ir.Expr) -> bool:
    """Whether an index takes everything: `[:]`, `[...]`, `[None]`."""
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return all(
        (isinstance(part, ir.Slice) and all(bound is None for bound in part.bounds))
        or (isinstance(part, ir.Literal) and (part.value is ... or part.value is None))
        for part in parts
    )
