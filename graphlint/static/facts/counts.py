"""A place where something is kept and a function in, whether it begins there as a number out."""

from __future__ import annotations

from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in


def starts_as_number(target: ir.Expr, code: ir.Code) -> bool:
    """Whether a function that adds to an item gives it a number at another place: `group["step"] = 0`."""
    match target:
        case ir.Subscript(index=ir.Literal(value=str(key))):
            return key in _numbered(code)
    return False


@remembered
def _numbered(code: ir.Code) -> frozenset[str]:
    """The keys under which a function stores plain numbers."""
    return frozenset(
        target.index.value
        for part in assignments_in(code)
        if isinstance(part.value, ir.Literal) and type(part.value.value) is int
        for target in part.targets
        if isinstance(target, ir.Subscript)
        and isinstance(target.index, ir.Literal)
        and isinstance(target.index.value, str)
    )
