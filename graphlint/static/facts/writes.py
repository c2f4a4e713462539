"""The operands of an operation as written and as values, and whether the program writes to one in place."""

from __future__ import annotations

from typing import TypeAlias

from graphlint.rulebook.signatures import Operation
from graphlint.static.domain.contexts import Frame
from graphlint.static.index.parts import parts_with, spelling
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name
from graphlint.values import Value

Operand: TypeAlias = "tuple[ir.Expr | None, Value]"


def written(operation: Operation, node: ir.Call, receiver: Value | None) -> dict[str, tuple[ir.Expr, ...]]:
    """The expressions that are bound to the parameters of an operation, where no argument is starred."""
    if any(argument.star for argument in node.arguments):
        return {}
    positional = [argument.value for argument in node.arguments if argument.keyword is None]
    keywords = {argument.keyword: argument.value for argument in node.arguments if argument.keyword is not None}
    if receiver is not None and operation.params and operation.params[0].name == "self":
        positional.insert(0, node.func.value if isinstance(node.func, ir.Attribute) else node.func)
    return operation.bind(positional, keywords)


def names(written: dict[str, tuple[ir.Expr, ...]]) -> dict[str, tuple[str | None, ...]]:
    """The plain names among the expressions of each parameter: one name is one object."""
    return {name: tuple(e.id if isinstance(e, ir.Name) else None for e in held) for name, held in written.items()}


def operands(bound: dict[str, tuple[Value, ...]], written: dict[str, tuple[ir.Expr, ...]]) -> list[Operand]:
    """Every argument with its expression, as far as that is known."""
    found: list[Operand] = []
    for name, values in bound.items():
        expressions = written.get(name, ())
        found += zip(expressions if len(expressions) == len(values) else (None,) * len(values), values, strict=True)
    return found


def sides(node: ir.Node, left: Value, right: Value) -> list[Operand]:
    """Both sides of an operator, with their expressions."""
    if isinstance(node, ir.Binary):
        return [(node.left, left), (node.right, right)]
    if isinstance(node, ir.AugAssign):
        return [(node.target, left), (node.value, right)]
    return [(None, left), (None, right)]


def is_written_to(operands: tuple[ir.Expr | None, ...], frame: Frame, project: Project, position: int) -> bool:
    """Whether code that shares the name of the operand at a position changes, in place, what has that name."""
    operand = operands[position]
    name = last_name(operand)
    return name is not None and any(
        spelling(target) == spelt
        for module, spelt in project.sharing(frame.module, name, isinstance(operand, ir.Attribute))
        for part in parts_with(module, spelt.lstrip("."))
        for target in part.writes.changed
    )
