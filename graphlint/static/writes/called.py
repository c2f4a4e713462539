"""A piece of source in, the calls in it out, each with the loops and conditions that stand around it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.trees import nodes_in, tree_of

Loops: TypeAlias = "tuple[tuple[int, int], ...]"  # the first and last lines of loops, one inside the other
Branches: TypeAlias = "tuple[tuple[int, bool], ...]"  # the lines of tests, and how they come out
UNNAMED = "()"  # what has no name: an item, or what a call gives
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Called:
    """A call in a function: the last name of what is called, the line, and the loops and conditions around it.

    It `is_lazy` where a condition asks whether something is there already, so that the next call does without;
    `branches` are those that it stands in: the line of the test, and which way; what is behind one that returns stands
    in the other. `owner` is the last name of what it is a method of, or `UNNAMED`; it `is_of_name` if that is a
    variable.
    """

    name: str
    line: int
    loops: Loops
    is_conditional: bool
    is_lazy: bool
    inner: tuple[str, ...]
    branches: Branches = ()
    owner: str = ""
    is_of_name: bool = False

    def excludes(self, branches: Branches, loops: Loops) -> bool:
        """Whether what stands in these branches is left out where this is called, in the same round of all loops."""
        other_ways = {(line, not way) for line, way in self.branches}
        return not other_ways.isdisjoint(branches) and not set(self.loops) & set(loops)


@remembered
def calls_in(source: str, before: int) -> tuple[Called, ...]:
    """The calls of a segment that begins behind so many lines, and the properties that are read as if they were."""
    tree = tree_of(source)
    if tree is None:
        return ()
    body = tree.body if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) else [tree]
    found: list[Called] = []
    _collect_all(body, Called("", before, (), False, False, ()), found)
    return tuple(found)


def _collect_all(nodes: Iterable[ast.AST], around: Called, found: list[Called]) -> None:
    """The calls in nodes, one behind the other."""
    for node in nodes:
        _collect(node, around, found)
        left = _left_by(node)
        if isinstance(node, ast.If) and left is not None:
            around = replace(around, branches=(*around.branches, (node.lineno + around.line, not left)))


def _collect(node: ast.AST, around: Called, found: list[Called]) -> None:
    """The calls in a node, of which those around it say the rest; `line` is how many lines there are before."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name) as func):
            line, is_of_name = (func.end_lineno or 0) + around.line, _is_of_name(func)
            found.append(replace(around, name=name, line=line, owner=_owner_of(func), is_of_name=is_of_name))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            around = Called("", around.line, (), False, False, (*around.inner, name))
        case ast.If(test=test):
            around = replace(around, is_conditional=True, is_lazy=around.is_lazy or _asks_for_presence(test))
            _collect(test, around, found)
            for way, block in ((True, node.body), (False, node.orelse)):
                inside = (*around.branches, (node.lineno + around.line, way))
                _collect_all(block, replace(around, branches=inside), found)
            return
        case ast.Try():
            around = replace(around, is_conditional=True)
    if isinstance(node, _LOOPS):
        span = node.lineno + around.line, (node.end_lineno or node.lineno) + around.line
        around = replace(around, loops=(*around.loops, span))
    _collect_all(ast.iter_child_nodes(node), around, found)


def _owner_of(func: ast.expr) -> str:
    match func:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
        case ast.Attribute():
            return UNNAMED
    return ""


def _is_of_name(func: ast.expr) -> bool:
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)


def _asks_for_presence(test: ast.expr) -> bool:
    """Whether a condition asks if something is there: `self.graph is None`, `key not in graphs`, `not self.ready`."""
    signs = (ast.Is, ast.IsNot, ast.In, ast.NotIn, ast.Not)
    return any(isinstance(part, signs) for part in nodes_in(test))


@remembered
def branches_at(source: str, before: int, line: int) -> Branches:
    """The branches that a line of a segment stands in."""
    tree = tree_of(source)
    return () if tree is None else tuple((test + before, way) for test, way in _branches(tree, line - before))


def _branches(node: ast.AST, line: int) -> Iterator[tuple[int, bool]]:
    """The branches in a node that one of its lines stands in, the outer ones first."""
    for name, block in ast.iter_fields(node):
        parts = block if isinstance(block, list) else [block]
        statements = [one for one in parts if isinstance(one, (ast.stmt, ast.ExceptHandler, ast.match_case))]
        if not statements or not _span(statements[0])[0] <= line <= _span(statements[-1])[1]:
            continue
        if isinstance(node, ast.If):
            yield node.lineno, name == "body"
        for one in statements:
            first, last = _span(one)
            left = _left_by(one)
            if last < line and left is not None:
                yield first, not left
            elif first <= line <= last:
                yield from _branches(one, line)


def _left_by(node: ast.AST) -> bool | None:
    """Which way of a condition a function is left on, so that what is behind it runs on the other way alone."""
    if isinstance(node, ast.If):
        for way, block in ((True, node.body), (False, node.orelse)):
            if block and isinstance(block[-1], ast.Return):
                return way
    return None


def _span(node: ast.stmt | ast.ExceptHandler | ast.match_case) -> tuple[int, int]:
    """The first and last line of what stands in a block."""
    first = node.pattern if isinstance(node, ast.match_case) else node
    last = node.body[-1] if isinstance(node, ast.match_case) else node
    return first.lineno, last.end_lineno or last.lineno


@remembered
def imports_in(source: str) -> frozenset[str]:
    """The names that the imports in a segment bind."""
    tree = tree_of(source)
    parts = nodes_in(tree) if tree is not None else []
    aliases = (one for part in parts if isinstance(part, (ast.Import, ast.ImportFrom)) for one in part.names)
    return frozenset(one.asname or one.name.partition(".")[0] for one in aliases)
