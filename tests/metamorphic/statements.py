"""Edits of single statements: temporaries, loops and containers around."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from metamorphic.sources import Change, Piece, Source, Sources

_ONCE = "once"  # counts the only round of a loop that is put around something
_SUSPENDING = (ast.Await, ast.Yield, ast.YieldFrom)
_PLAIN = (ast.Name, ast.Constant, ast.Attribute)


def temporaries(sources: Sources) -> Iterator[Change]:
    """`y = f(g(x))` -> `given_1 = g(x)`, `given_2 = f(given_1)` and `y = given_2`."""
    for source in sources:
        names = (f"given_{number}" for number in itertools.count(1))
        for statement in _with_value(source):
            value, indent = statement.value, source.indent(statement)
            operands = {operand: next(names) for operand in _operands(value)}
            lines: list[Piece | str] = []
            for operand, name in operands.items():
                lines += [source.piece(f"{indent}{name} = (", operand), source.moved(operand), ")\n"]
            if isinstance(statement, ast.Assign | ast.Return) and isinstance(value, ast.Call | ast.BinOp):
                name = next(names)
                lines += [source.piece(f"{indent}{name} = (", value), *_replaced(source, value, operands), ")\n"]
                yield source.change(*source.span(value), name)
            else:
                yield from (source.change(*source.span(operand), name) for operand, name in operands.items())
            if lines:
                yield source.before(statement, *lines)


def in_loop(sources: Sources) -> Iterator[Change]:
    """`for once in range(1):` around every simple statement."""
    for source in sources:
        for statement in source.simple:
            if not source.has_long_string(statement):
                indent = source.indent(statement)
                yield source.before(statement, source.piece(f"{indent}for {_ONCE} in range(1):\n", statement))
                for line in range(statement.lineno, (statement.end_lineno or 0) + 1):
                    yield source.change(source.line_start(line), source.line_start(line), "    ")


def in_container(sources: Sources) -> Iterator[Change]:
    """`y = f(x)` -> `y = (f(x),)[0]`, and the same with a list and a dict, in turns."""
    for source in sources:
        turns = itertools.cycle([("(", ",)[0]"), ("[", "][0]"), ('{"it": (', ')}["it"]')])
        for statement in _with_value(source):
            if isinstance(statement.value, ast.Call | ast.BinOp | ast.Attribute | ast.Name | ast.Subscript):
                yield from source.around(statement.value, *next(turns))


def _with_value(source: Source) -> Iterator[ast.Assign | ast.AugAssign | ast.Return | ast.Expr]:
    """The statements with a value that is worked out at once, in one go."""
    for statement in source.simple:
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.Return | ast.Expr) and statement.value is not None:
            in_class = isinstance(source.parents[statement], ast.ClassDef)
            if not in_class and not any(isinstance(node, _SUSPENDING) for node in ast.walk(statement)):
                yield statement


def _operands(value: ast.expr) -> list[ast.expr]:
    """What a call or an operator works on, where working it out first changes nothing."""
    if isinstance(value, ast.BinOp):
        operands = [value.left, value.right]
    elif isinstance(value, ast.Call) and _is_dotted(value.func):
        operands = [*value.args, *(k.value for k in value.keywords)]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        operands = [value.func.value]
    else:
        return []
    chosen = [o for o in operands if isinstance(o, ast.Call | ast.BinOp | ast.Subscript)]
    # What is left in its place is worked out later than before, and so must not depend on what is moved.
    return chosen if all(o in chosen or isinstance(o, _PLAIN) for o in operands) else []


def _replaced(source: Source, value: ast.expr, operands: dict[ast.expr, str]) -> Iterator[Piece]:
    """The text of an expression with names instead of operands."""
    start, end = source.span(value)
    for operand, name in sorted(operands.items(), key=lambda item: source.span(item[0])):
        first, last = source.span(operand)
        yield source.cut(start, first)
        yield source.piece(name, operand)
        start = last
    yield source.cut(start, end)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
