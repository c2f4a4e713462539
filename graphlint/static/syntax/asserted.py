"""The text of a function in, what its assertions promise out: tests that do not all come out in a certain way.

`assert not (args.use_graphs and args.unpad)`, `if args.unpad: assert not args.use_graphs` and `if args.use_graphs and
args.unpad: raise ValueError` promise the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.trees import nodes_in, tree_of

Promise: TypeAlias = "tuple[tuple[ast.expr, bool], ...]"  # tests that do not all come out like this


def is_broken(promise: Promise, known: Mapping[str, bool]) -> bool:
    """Whether what is known of flags, by their last names, goes against a promise for certain."""
    return all(_holds(test, known) is outcome for test, outcome in promise)


@remembered
def promises_in(source: str) -> tuple[tuple[frozenset[str], Promise], ...]:
    """What the assertions of a segment promise, and the names in each."""
    tree = tree_of(source)
    found = tuple(_promises(tree, ())) if tree is not None else ()
    return tuple((frozenset(_names(one)), one) for one in found)


def _promises(node: ast.AST, around: Promise) -> Iterator[Promise]:
    match node:
        case ast.Assert(test=test):
            yield (*around, (test, False))
        case ast.Raise() if around:
            yield around
        case ast.If(test=test):
            for outcome, block in ((True, node.body), (False, node.orelse)):
                for statement in block:
                    yield from _promises(statement, (*around, (test, outcome)))
            return
        case ast.Try():
            return  # whoever catches what is raised goes on
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from _promises(child, around)


def _names(promise: Promise) -> Iterator[str]:
    for test, _ in promise:
        for part in nodes_in(test):
            if isinstance(part, ast.Attribute):
                yield part.attr


def _holds(test: ast.expr, known: Mapping[str, bool]) -> bool | None:
    """How a test comes out as far as flags are known; None if that does not tell."""
    match test:
        case ast.Attribute(attr=name):
            return known.get(name)
        case ast.Constant(value=bool() as value):
            return value
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            held = _holds(operand, known)
            return None if held is None else not held
        case ast.BoolOp(op=op, values=values):
            deciding = isinstance(op, ast.Or)
            outcomes = {_holds(value, known) for value in values}
            return deciding if deciding in outcomes else None if None in outcomes else not deciding
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=bool() as value)]):
            held = _holds(left, known)
            return None if held is None else held is value
    return None
