"""Source in, the tree that Python makes of it out."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Iterator
from typing import TypeAlias

from graphlint.static.syntax.nesting import MAX_FILE, is_too_long, too_deep
from graphlint.static.syntax.remembered import remembered_shortly

Problem: TypeAlias = tuple[str, int]  # what is wrong with a source, and at which line
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
_WHOSE = " by Python {}.{}".format(*sys.version_info)  # whose grammar may be older than a program
WRAPPER = "if True:\n"  # gives an indented piece of source a parent, so that columns stay as they are in the file


def parse(text: str) -> ast.Module:
    """The tree of a text. Raises one of UNPARSABLE."""
    if is_too_long(text):
        raise ValueError(f"it holds more than {MAX_FILE:,} elements, operators and lines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is none of our business
        return ast.parse(text)


def parsed(text: str) -> tuple[ast.Module | None, Problem | None]:
    """The tree of a text, or what is wrong with it."""
    try:
        return parse(text), None
    except UNPARSABLE as problem:
        whose = _WHOSE if isinstance(problem, SyntaxError) else ""
        said = f"cannot be parsed{whose}: {getattr(problem, 'msg', problem)}"
        return None, (said, getattr(problem, "lineno", 1) or 1)


def is_python(text: str) -> bool:
    """Whether whole source lines, indented or not, can be parsed."""
    try:
        statements(text)
    except UNPARSABLE:
        return False
    return True


def statements(text: str) -> tuple[list[ast.stmt], int]:
    """The statements of whole source lines, indented or not, and which line their first one is. Raises as `parse`."""
    if text[:1] not in (" ", "\t"):
        return parse(text).body, 1
    (wrapper,) = parse(WRAPPER + text).body
    assert isinstance(wrapper, ast.If)
    return wrapper.body, 2


class _Parts(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each kind of node that may hold others, but for whether it is read or assigned."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = tuple(name for name in kind._fields if name not in _PLAIN)
        return self[kind]


# Those that hold no nodes, but for `ctx`.
_PLAIN = frozenset({"arg", "attr", "conversion", "ctx", "id", "kind", "level", "simple", "type_comment"})
_PARTS = _Parts()


def nodes_in(tree: ast.AST) -> list[ast.AST]:
    """A tree and what stands in it, in the order of `ast.walk`, which takes many times as long."""
    found = [tree]
    for node in found:  # which grows meanwhile
        for name in _PARTS[type(node)]:
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.append(part)
            elif type(part) is list:
                found += [one for one in part if isinstance(one, ast.AST)]
    return found


def endings(node: ast.AST) -> Iterator[str]:
    """The name that an expression ends in, if it does in one: `append` of `self.parts.append`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name


def move(tree: ast.AST, by: int) -> None:
    """Let everything in a tree stand so many lines further down."""
    for node in nodes_in(tree):
        if "lineno" in node.__dict__:
            node.lineno += by  # type: ignore[attr-defined]
            node.end_lineno += by  # type: ignore[attr-defined]


@remembered_shortly
def tree_of(source: str) -> ast.stmt | None:
    """The statement of a segment, with lines that count from 1 where it begins; None if it cannot be parsed."""
    if too_deep(source):
        return None
    try:
        found, first = statements(source)
    except UNPARSABLE:
        return None
    if found and first > 1:
        move(found[0], 1 - first)
    return next(iter(found), None)


def assigned_in(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned to in a tree, and what it is given, one by one where several are at once."""
    for node in nodes_in(tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from zip(targets, values, strict=False)
            case ast.Assign(targets=targets, value=value):
                yield from ((one, value) for one in targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield target, value
