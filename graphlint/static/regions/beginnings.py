"""An expression in, the names out that it begins with, and those of what these were made of."""

from __future__ import annotations

from collections.abc import Mapping

from graphlint.static.domain.program import Function
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in


def handed_in(function: Function) -> set[str]:
    """The names of what a function is given, but for its object."""
    return {parameter.name for parameter in function.code.parameters} - {"self", "cls"}


def origins(value: ir.Expr, code: ir.Code) -> set[str]:
    """The names that a value begins with, and those that the locals among them were made of."""
    made_of, found = _made_of(code), set[str]()
    pending = [root] if (root := _root(value)) is not None else []
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += made_of.get(name, ())
    return found


def held_by_self(callee: ir.Expr) -> str | None:
    """What an object holds that is called, or that a callee is reached through: `model` of `self.model.layers[0]`."""
    name = None
    while isinstance(callee, (ir.Attribute, ir.Subscript)):
        name = callee.attr if isinstance(callee, ir.Attribute) else None
        callee = callee.value
    return name if isinstance(callee, ir.Name) and callee.id == "self" else None


@remembered
def _made_of(code: ir.Code) -> Mapping[str, set[str]]:
    """The names that what is assigned to each local begins with; of a call, also what it is given."""
    found: dict[str, set[str]] = {}
    for one in assignments_in(code):
        given = one.value.arguments if isinstance(one.value, ir.Call) else ()
        parts = [part for part in (one.value, *(argument.value for argument in given)) if part is not None]
        roots = {root for part in parts if (root := _root(part)) is not None}
        for target in one.targets:
            if isinstance(target, ir.Name):
                found.setdefault(target.id, set()).update(roots)
    return found


def _root(callee: ir.Expr) -> str | None:
    """The name that a dotted one begins with, or what is called on what it gives: `model` of `model.layers[0]`."""
    while not isinstance(callee, ir.Name):
        if isinstance(callee, (ir.Attribute, ir.Subscript)):
            callee = callee.value
        elif isinstance(callee, ir.Call):
            callee = callee.func
        else:
            return None
    return callee.id
