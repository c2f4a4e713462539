"""Names of sizes in, whether a search through them may come to an end without one out, as far as their file says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from graphlint.static.index.module import Module
from graphlint.static.syntax.trees import assigned_in, endings, nodes_in
from graphlint.static.writes.orders import Orders

_UNCHANGED = ("list", "set", "sorted", "tuple")  # what gives the same sizes in another order or kind
_LOOPS = (ast.For, ast.GeneratorExp, ast.Lambda, ast.ListComp, ast.SetComp)
_LARGEST = ("max", "[-1]", "largest", "limit", "StopIteration")  # one of them is asked for where a file looks before


def is_open(module: Module, names: Set[str]) -> bool:
    """Whether a file lists sizes, or is given them, and nothing in it asks whether a request is larger than those."""
    orders = Orders(module)
    trees = [*orders.functions, *orders.statements]
    listed = [_is_listed(value, _parameters(tree)) for tree in trees for value in _values(tree, names)]
    return bool(listed) and all(listed) and not any(map(_looks_before, trees))


def _parameters(tree: ast.AST) -> Set[str]:
    """What a function, or one in it, is given."""
    return {node.arg for node in nodes_in(tree) if isinstance(node, ast.arg)}


def _values(tree: ast.AST, names: Set[str]) -> Iterator[ast.expr]:
    """What some names are given in a function, or by default."""
    yield from (value for one, value in assigned_in(tree) if not names.isdisjoint(endings(one)))


def _is_listed(value: ast.expr, given: Set[str]) -> bool:
    """Whether sizes are written down, or are those of an argument, as they are."""
    match value:
        case ast.Call(func=ast.Name(id=name), args=[one]) if name in _UNCHANGED:
            return _is_listed(one, given)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return all(isinstance(one, ast.Constant) for one in parts)
    return isinstance(value, ast.Name) and value.id in given


def _looks_before(tree: ast.AST) -> bool:
    """Whether a function compares something with the largest of its sizes, or catches what a search raises."""
    inner = {id(part) for node in nodes_in(tree) if isinstance(node, _LOOPS) for part in nodes_in(node)}
    asked = (
        one for one in nodes_in(tree) if isinstance(one, (ast.ExceptHandler, ast.Compare)) and id(one) not in inner
    )
    spelt = (ast.unparse(one.type or one) if isinstance(one, ast.ExceptHandler) else ast.unparse(one) for one in asked)
    return any(word in text for text in spelt for word in _LARGEST)
