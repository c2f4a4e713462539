"""Names of sizes in, whether a search through them may come to an end without one out, as far as their file says."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from graphlint.static.index.module import Module
from graphlint.static.syntax.trees import assigned_in, endings, nodes_in
from graphlint.static.writes.orders import Orders

_UNCHANGED = ("list", "reversed", "set", "sorted", "tuple")  # what gives the same sizes in another order or kind
_TABLES = (ast.Dict, ast.DictComp, ast.Call)  # what a table is made as, and not its keys
_LOOPS = (ast.For, ast.GeneratorExp, ast.Lambda, ast.ListComp, ast.SetComp)
_LARGEST = ("max", "[-1]", "largest", "limit", "StopIteration")  # one of them is asked for where a file looks before


def is_open(module: Module, names: Set[str]) -> bool:
    """Whether a file lists sizes, or is given them, and nothing in it asks whether a request is larger than those."""
    orders = Orders(module)
    trees = [*orders.functions, *orders.statements]
    filled = [(sizes, _parameters(tree)) for tree in trees for sizes in _tables(tree, names)]
    listed = [sizes is not None and _is_listed(sizes, given) for sizes, given in filled]
    behind = {name for sizes, _ in filled if isinstance(sizes, ast.Attribute) for name in endings(sizes)}
    if behind:
        listed = [isinstance(sizes, ast.Attribute) for sizes, _ in filled]
    for tree in trees:
        values = _values(tree, behind or names)
        is_table = filled and not behind
        listed += [_is_listed(one, _parameters(tree)) for one in values if not (is_table and isinstance(one, _TABLES))]
    return bool(listed) and all(listed) and not any(map(_looks_before, trees))


def _tables(tree: ast.AST, names: Set[str]) -> Iterator[ast.expr | None]:
    """The sizes that tables of some names get their keys from: `self.graphs[n] = ...` in a loop over them, or None."""
    loops: dict[int, ast.expr] = {}
    for node in nodes_in(tree):
        match node:
            case ast.Assign(targets=[table], value=ast.DictComp(key=ast.Name(id=key), generators=[one])):
                if not names.isdisjoint(endings(table)):
                    yield _unchanged(one.iter) if key in endings(one.target) else None
            case ast.For(target=ast.Name(id=size), iter=sizes):
                loops |= {id(part): sizes for part in nodes_in(node) if _is_kept_by(part, size)}
            case ast.Subscript(value=table, ctx=ast.Store()) if not names.isdisjoint(endings(table)):
                yield _unchanged(loops[id(node)]) if id(node) in loops else None


def _is_kept_by(node: ast.AST, size: str) -> bool:
    """Whether something is kept under a size."""
    match node:
        case ast.Subscript(slice=ast.Name(id=key), ctx=ast.Store()):
            return key == size
    return False


def _unchanged(sizes: ast.expr) -> ast.expr:
    """What gives the same sizes in some order."""
    match sizes:
        case ast.Call(func=ast.Name(id=name), args=[one]) if name in _UNCHANGED:
            return _unchanged(one)
    return sizes


def _parameters(tree: ast.AST) -> Set[str]:
    """What a function, or one in it, is given."""
    return {node.arg for node in nodes_in(tree) if isinstance(node, ast.arg)}


def _values(tree: ast.AST, names: Set[str]) -> Iterator[ast.expr]:
    """What some names are given in a function, or by default."""
    yield from (value for one, value in assigned_in(tree) if not names.isdisjoint(endings(one)))


def _is_listed(value: ast.expr, given: Set[str]) -> bool:
    """Whether sizes are written down, or are those of an argument, as they are."""
    match value:
        case ast.Call() if _unchanged(value) is not value:
            return _is_listed(_unchanged(value), given)
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
