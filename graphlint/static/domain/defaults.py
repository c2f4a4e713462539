"""A test in, what it comes to out where the flags and choices that it asks have their defaults."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from graphlint.static.domain.program import Function
from graphlint.static.index.defaults import default_of
from graphlint.static.syntax import ir

COMPARISONS: Mapping[str, Callable[[Any, Any], object]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "<=": operator.le,
    "is": operator.is_, "is not": operator.is_not,
    "in": lambda one, many: one in many, "not in": lambda one, many: one not in many,
}  # fmt: skip


def by_default(function: Function, test: ir.Expr) -> bool | None:
    """What a test comes to where what it asks has its default; None where the source gives no default."""
    if not isinstance(test, ir.Compare):
        default = _default(function, test)
        return None if default is None else bool(default)
    if len(test.comparisons) != 1:
        return None
    sign, right = test.comparisons[0]
    sides = [_default(function, side) for side in (test.left, right)]
    written = [_literal(side) for side in (test.left, right)]
    if (sides[0] is None) == (sides[1] is None):  # one side has a default, and the other is written down
        return None
    values = [default if default is not None else other for default, other in zip(sides, written, strict=True)]
    if None in values:
        return None
    try:
        return bool(COMPARISONS[sign](*values))
    except TypeError:
        return None


def _default(function: Function, subject: ir.Expr) -> object:
    """The default of what a test asks; None if there is none. What is None by default is often given."""
    match subject:
        case ir.Call(func=ir.Attribute(attr="get"), arguments=(_, ir.Argument(value=given))):
            return _literal(given)
        case ir.Call(func=ir.Name(id="getattr"), arguments=(_, _, ir.Argument(value=given))):
            return _literal(given)
        case ir.Name(id=name) if any(parameter.name == name for parameter in function.code.parameters):
            return None
        case ir.Name(id=name) | ir.Attribute(attr=name) | ir.Subscript(index=ir.Literal(value=str(name))):
            return default_of(function.module, name)
    return None


def _literal(node: ir.Expr) -> object:
    """The value of a literal, or of a display of them; None for anything else."""
    if isinstance(node, ir.Literal):
        return node.value
    if isinstance(node, ir.Display) and all(isinstance(element, ir.Literal) for element in node.elements):
        return tuple(element.value for element in node.elements if isinstance(element, ir.Literal))
    return None
