"""A function's source in, the names of state that each of its lines reads and writes out."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from types import CodeType

from graphlint.runtime.trace.bindings import Access
from graphlint.runtime.trace.places import source_tree

_MUTATORS = frozenset([
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem", "popleft", "push",
    "remove", "setdefault", "update",
])  # fmt: skip
_READERS = frozenset([
    "copy", "count", "endswith", "format", "get", "index", "items", "keys", "lower", "startswith", "upper", "values",
])  # fmt: skip
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def accesses(code: CodeType) -> dict[int, tuple[Access, ...]]:
    """The accesses of a code object by the line that runs them; none where the source is not there."""
    return _by_line(code.co_filename).get((code.co_firstlineno, code.co_name), {})


@functools.cache
def _by_line(path: str) -> dict[tuple[int, str], dict[int, tuple[Access, ...]]]:
    tree = source_tree(path)
    found: dict[tuple[int, str], dict[int, tuple[Access, ...]]] = {}
    scopes: list[ast.AST] = [tree, *(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))]
    for scope in scopes:
        lines: dict[int, tuple[Access, ...]] = {}
        for access in _in_scope(scope):
            lines[access.line] = (*lines.get(access.line, ()), access)
        found[_key(scope)] = lines
    return found


def _key(scope: ast.AST) -> tuple[int, str]:
    """The first line and the name of a scope's code object; a decorated function begins at its first decorator."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return min([scope.lineno, *(one.lineno for one in scope.decorator_list)]), scope.name
    return (scope.lineno, "<lambda>") if isinstance(scope, ast.Lambda) else (1, "<module>")


def _in_scope(scope: ast.AST) -> Iterator[Access]:
    """The outermost chains in the statements of a scope, not in those of functions and classes inside it."""
    body = scope.body if isinstance(scope, ast.Module | _FUNCTIONS) else []
    return _among(list(body) if isinstance(body, list) else [body])


def _among(pending: list[ast.AST]) -> Iterator[Access]:
    while pending:
        node = pending.pop()
        if isinstance(node, _FUNCTIONS | ast.ClassDef):
            continue
        if isinstance(node, ast.For | ast.AsyncFor):
            pending += [node.iter, *node.body, *node.orelse, *_stored(node.target)]
            continue
        if isinstance(node, _COMPREHENSIONS):
            yield from _in_comprehension(node)
            continue
        inner: ast.AST = node
        how, is_method = "read", False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner, is_method = node.func.value, node.func.attr in _MUTATORS
            how = "change" if is_method else "read" if node.func.attr in _READERS else "call"
            pending += [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.AugAssign):
            inner, how = node.target, "write"
            pending.append(node.value)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            how = "read" if isinstance(node.ctx, ast.Load) else "write"
        chained = list(_chain(inner, how, is_method))
        yield from chained
        if not chained:
            pending += [inner] if inner is not node else ast.iter_child_nodes(node)
        elif isinstance(inner, ast.Subscript) and not isinstance(inner.slice, ast.Constant):
            pending.append(inner.slice)


def _stored(target: ast.expr) -> list[ast.expr]:
    """What a loop gives its values to, but for names: each run of it begins with those anew."""
    if isinstance(target, ast.Tuple | ast.List):
        return [one for part in target.elts for one in _stored(part)]
    return [] if isinstance(target, ast.Name) else [target]


def _in_comprehension(node: ast.AST) -> Iterator[Access]:
    """Its own variables belong to no state."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    own = {name.id for name in names}
    return (access for access in _among(list(ast.iter_child_nodes(node))) if access.root not in own)


def _chain(node: ast.AST, how: str, is_method: bool) -> Iterator[Access]:
    """The one access that a node is, if it is a chain."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return
    steps: list[str | tuple[object]] = []
    inner: ast.expr = node
    while not isinstance(inner, ast.Name):
        if isinstance(inner, ast.Attribute):
            steps.append(inner.attr)
        elif isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
            steps.append((inner.slice.value,))
        elif isinstance(inner, ast.Subscript) and inner is node:
            how = "change" if how == "write" else how  # an element that is computed: its container
        else:
            return
        inner = inner.value
    steps.reverse()
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    yield Access(inner.id, tuple(steps), how, node.lineno, node.col_offset + 1, end_line, end_column + 1, is_method)
