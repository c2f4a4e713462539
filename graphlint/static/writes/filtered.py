"""A function in, where it picks a size for what fits in none of those that it has filtered out: `fits[0] if fits else`.

The list of those that fit may have a name, and what is done where it is empty stands in a condition or in a handler.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from graphlint.static.syntax.trees import endings, nodes_in

Filter: TypeAlias = ast.ListComp | ast.GeneratorExp
_FITS = (ast.GtE, ast.Gt, ast.LtE, ast.Lt)
_MOST = ("largest", "max_", "most")  # how names begin that say which size is the largest


def asked_of(test: ast.expr, size: ast.expr) -> str | None:
    """What a size is compared with, as it is spelt."""
    match test:
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if isinstance(sign, _FITS):
            sides = {ast.unparse(left), ast.unparse(right)} - {ast.unparse(size)}
            return sides.pop() if len(sides) == 1 else None
    return None


def is_largest(value: ast.expr, sizes: ast.expr) -> bool:
    """Whether a value is the largest of some sizes, or the last of them."""
    match sizes:
        case ast.Call(func=ast.Name(id="sorted"), args=[one]):
            sizes = one
    match value:
        case ast.Call(func=ast.Name(id="max"), args=[one]):
            return ast.dump(one) == ast.dump(sizes)
        case ast.Subscript(value=one, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))):
            return ast.dump(one) == ast.dump(sizes)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().startswith(_MOST)
    return False


class Missing(NamedTuple):
    """Where a size is picked, out of which, and for what, where none of them may be large enough."""

    node: ast.AST
    sizes: ast.expr
    asked: str


def ending_with_the_largest(tree: ast.AST) -> Iterator[Missing]:
    """Where a function takes the largest size if the list of those that fit is empty."""
    nodes = nodes_in(tree)
    lists = _named_lists(nodes)
    for node in nodes:
        for first, other, where in _choices(node, lists):
            one = _filter_of(first, lists)
            found = _missing(where, one) if one is not None else None
            if found is not None and is_largest(other, found.sizes):
                yield found


def without_an_answer(tree: ast.AST) -> Iterator[Missing]:
    """`fits[0]`, where nothing asks whether there are some; `min(fits)` refuses a request in words that say why."""
    nodes = nodes_in(tree)
    lists = _named_lists(nodes)
    loads = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    caught = {id(part) for node in nodes if isinstance(node, ast.Try) for one in node.body for part in nodes_in(one)}
    for node in nodes:
        match node:
            case ast.Subscript(value=ast.Name()) if id(node) not in caught:
                one = _filter_of(node, lists)
            case _:
                continue
        named = (name for name, value in lists.items() if value is one)
        found = _missing(node, one) if one is not None and all(loads[name] == 1 for name in named) else None
        if found is not None:
            yield found


def going_back(tree: ast.AST) -> Iterator[Missing]:
    """`if place == len(sizes): place -= 1`, or what gives the last of them there, behind a search by bisection."""
    places: dict[str, tuple[ast.expr, ast.expr]] = {}
    for node in nodes_in(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func, args=[sizes, asked])):
                if any(one.startswith("bisect") for one in endings(func)):
                    places[name] = sizes, asked
            case ast.If(
                test=ast.Compare(
                    left=ast.Name(id=name),
                    ops=[ast.Eq() | ast.GtE()],
                    comparators=[ast.Call(func=ast.Name(id="len"), args=[counted])],
                ),
                body=[*_, last],
            ) if name in places and ast.dump(counted) == ast.dump(places[name][0]):
                sizes, asked = places[name]
                if _is_last(last, name, sizes):
                    yield Missing(last, sizes, ast.unparse(asked))


def _is_last(statement: ast.stmt, place: str, sizes: ast.expr) -> bool:
    """Whether a statement goes on with the last of some sizes, or with its place."""
    match statement:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Sub(), value=ast.Constant(value=1)):
            return name == place
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Call(func=ast.Name(id="len"), args=[counted]), op=ast.Sub()),
        ) if name == place:
            return ast.dump(counted) == ast.dump(sizes)
        case ast.Return(value=ast.expr() as value) | ast.Assign(value=value):
            return is_largest(value, sizes)
    return False


def _named_lists(nodes: list[ast.AST]) -> dict[str, Filter]:
    """The lists of sizes that have a name, which is given once."""
    given = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    found: dict[str, Filter] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.ListComp() as value) if given[name] == 1:
                found[name] = value
    return found


def _filter_of(node: ast.AST, lists: dict[str, Filter]) -> Filter | None:
    """That of `min(s for s in sizes if s >= n)`, and of `fits[0]` and `min(fits)`, where it has that name."""
    match node:
        case (
            ast.Call(func=ast.Name(id="min"), args=[one], keywords=[])
            | ast.Call(func=ast.Name(id="next"), args=[one])
            | ast.Subscript(value=one, slice=ast.Constant(value=0))
        ):
            return lists.get(one.id) if isinstance(one, ast.Name) else one if isinstance(one, Filter) else None
    return None


def _missing(node: ast.AST, one: Filter) -> Missing | None:
    """What sizes are filtered for that are large enough, where they are asked nothing else."""
    match one.generators:
        case [ast.comprehension(target=ast.Name(id=size) as target, iter=sizes, ifs=[test])]:
            asked = asked_of(test, target)
            is_itself = isinstance(one.elt, ast.Name) and one.elt.id == size
            if is_itself and asked is not None and not asked.isdigit() and _is_at_least(test, size):
                return Missing(node, sizes, asked)
    return None


def _is_at_least(test: ast.expr, size: str) -> bool:
    match test:
        case ast.Compare(left=left, ops=[sign]):
            is_left = isinstance(left, ast.Name) and left.id == size
            return isinstance(sign, (ast.GtE, ast.Gt) if is_left else (ast.LtE, ast.Lt))
    return False


def _choices(node: ast.AST, lists: dict[str, Filter]) -> Iterator[tuple[ast.expr, ast.expr, ast.AST]]:
    """What is taken, what is taken where there is none, in some order, and where that stands."""
    match node:
        case ast.IfExp(test=test, body=one, orelse=other) if _asks(test, lists):
            yield from ((one, other, node), (other, one, node))
        case ast.Call(func=ast.Name(id="min"), args=[ast.Name() as named], keywords=[default]) if default.arg != "key":
            yield ast.Subscript(named, ast.Constant(0), ast.Load()), default.value, node
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        for first, second in pairwise([*block, ast.Pass()]) if isinstance(block, list) else ():
            yield from _of_statements(*_ways(first, second, lists))


def _ways(first: ast.stmt, second: ast.stmt, lists: dict[str, Filter]) -> tuple[ast.stmt, ast.stmt]:
    """The statements that two ways of a function end with, if one of them is for an empty list."""
    match first, second:
        case ast.If(test=test, body=[*_, one], orelse=[*_, other]), _ if _asks(test, lists):
            return one, other
        case ast.If(test=test, body=[*_, ast.Return() as one], orelse=[]), ast.Return() if _asks(test, lists):
            return one, second
        case ast.Try(body=[*_, one], handlers=[ast.ExceptHandler(body=[*_, other])]), _:
            return one, other
    return ast.Pass(), ast.Pass()


def _of_statements(one: ast.stmt, other: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr, ast.AST]]:
    """What two statements return, or give to the same name."""
    match one, other:
        case ast.Return(value=ast.expr() as left), ast.Return(value=ast.expr() as right):
            yield from ((left, right, other), (right, left, one))
        case ast.Assign(targets=[name], value=left), ast.Assign(targets=[same], value=right):
            if ast.dump(name) == ast.dump(same):
                yield from ((left, right, other), (right, left, one))


def _asks(test: ast.expr, lists: dict[str, Filter]) -> bool:
    """Whether a condition asks whether a list of those that fit is empty."""
    return any(isinstance(part, ast.Name) and part.id in lists for part in nodes_in(test))
