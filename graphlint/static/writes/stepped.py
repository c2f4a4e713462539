"""A function in, where it steps through sizes and stays with the largest for what fits in none of them out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from graphlint.static.syntax.trees import nodes_in
from graphlint.static.writes.filtered import Missing, asked_of, is_largest


def staying_with_the_largest(tree: ast.AST) -> Iterator[Missing]:
    """`best = max(sizes)`, which a loop makes smaller; a loop that ends with the last; a table with a default."""
    for node in nodes_in(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, ())
            yield from _of_blocks(block) if isinstance(block, list) else ()
        yield from (*_of_for(node), *_of_while(node), *_of_table(node))


def with_generator(node: ast.AST, nodes: list[ast.AST]) -> ast.AST:
    """`next(fits)`, with the generator that has this name in a function in its place."""
    match node:
        case ast.Call(func=ast.Name(id="next") as func, args=[ast.Name(id=name), *others]):
            given = [one for one in nodes if isinstance(one, ast.Name) and one.id == name and one is not node.args[0]]
            for one in nodes:
                match one:
                    case ast.Assign(targets=[ast.Name() as target], value=ast.GeneratorExp() as value):
                        if given == [target]:
                            return ast.Call(func, [value, *others], node.keywords)
    return ast.Constant(None)


def _of_blocks(block: list[ast.stmt]) -> Iterator[Missing]:
    """`best = max(sizes)`, and `for s in reversed(sizes): if s >= n: best = s`, or `if s < n: break` and `best = s`."""
    for first, second in pairwise(block):
        match first, second:
            case (
                ast.Assign(targets=[ast.Name(id=kept)], value=value),
                ast.For(target=ast.Name(id=size) as target, iter=sizes, body=body, orelse=[]),
            ):
                down = _downwards(sizes)
                asked = _asked_on_the_way(body, target, kept, size) if down is not None else None
                if down is not None and asked is not None and is_largest(value, down):
                    yield Missing(first, down, asked)


def _asked_on_the_way(body: list[ast.stmt], target: ast.expr, kept: str, size: str) -> str | None:
    """What a loop from the largest size on asks for, which keeps each that is large enough."""
    match body:
        case [
            ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=given))], orelse=[])
        ] | [
            ast.If(test=test, body=[ast.Break()], orelse=[]),
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=given)),
        ] if (name, given) == (kept, size):
            return asked_of(test, target)
    return None


def _downwards(node: ast.expr) -> ast.expr | None:
    """The sizes that something goes through from the largest on: `reversed(sizes)`, `sorted(sizes, reverse=True)`."""
    match node:
        case ast.Call(func=ast.Name(id="reversed"), args=[ast.Call(func=ast.Name(id="sorted"), args=[sizes])]):
            return sizes
        case ast.Call(func=ast.Name(id="reversed"), args=[sizes]):
            return sizes
        case ast.Call(
            func=ast.Name(id="sorted"),
            args=[sizes],
            keywords=[ast.keyword(arg="reverse", value=ast.Constant(value=True))],
        ):
            return sizes
        case ast.Subscript(value=sizes, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
            return sizes
    return None


def _of_for(node: ast.AST) -> Iterator[Missing]:
    """`for size in sizes: if size >= n: break`, behind which the name has the last one, whatever that is."""
    match node:
        case ast.For(
            target=ast.Name() as target, iter=sizes, body=[ast.If(test=test, body=[ast.Break()], orelse=[])], orelse=[]
        ):
            asked = asked_of(test, target)
            if asked is not None:
                yield Missing(test, sizes, asked)


def _of_while(node: ast.AST) -> Iterator[Missing]:
    """`while i < len(sizes) - 1 and sizes[i] < n: i += 1`."""
    match node:
        case ast.While(
            test=ast.BoolOp(op=ast.And(), values=tests),
            body=[ast.AugAssign(target=ast.Name(id=place), op=ast.Add(), value=ast.Constant(value=1))],
        ):
            counted = [sizes for test in tests for sizes in _ends_at_last(test, place)]
            for test in tests:
                match test:
                    case ast.Compare(left=ast.Subscript(value=sizes, slice=ast.Name(id=index)) as item) if (
                        index == place and ast.dump(sizes) in map(ast.dump, counted)
                    ):
                        asked = asked_of(test, item)
                        if asked is not None:
                            yield Missing(node.test, sizes, asked)


def _ends_at_last(test: ast.expr, place: str) -> Iterator[ast.expr]:
    """The sizes of `i < len(sizes) - 1`, and of `i + 1 < len(sizes)`."""
    match test:
        case (
            ast.Compare(
                left=ast.Name(id=index),
                ops=[ast.Lt()],
                comparators=[
                    ast.BinOp(
                        left=ast.Call(func=ast.Name(id="len"), args=[sizes]), op=ast.Sub(), right=ast.Constant(value=1)
                    )
                ],
            )
            | ast.Compare(
                left=ast.BinOp(left=ast.Name(id=index), op=ast.Add(), right=ast.Constant(value=1)),
                ops=[ast.Lt()],
                comparators=[ast.Call(func=ast.Name(id="len"), args=[sizes])],
            )
        ) if index == place:
            yield sizes


def _of_table(node: ast.AST) -> Iterator[Missing]:
    """`graphs.get(n, graphs[max(graphs)])`."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=table, attr="get"),
            args=[(ast.Name() | ast.Attribute()) as asked, ast.Subscript(value=other, slice=largest)],
        ) if ast.dump(table) == ast.dump(other) and is_largest(largest, table):
            yield Missing(node, table, ast.unparse(asked))
