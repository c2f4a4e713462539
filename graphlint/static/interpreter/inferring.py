"""A place in a function in, whether gradients are off there by what stands in the function itself out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from graphlint.values import External, Value


def is_inferring(
    function: Function, node: ir.Node | None, value: Callable[[ir.Expr, Module], Value], names: Collection[str]
) -> bool:
    """Whether a decorator or a block around a node is one of those `names`; no node stands for all of the function."""
    for manager in (*function.code.decorators, *_around(function.code, node)):
        callee = manager.func if isinstance(manager, ir.Call) else manager
        found = value(callee, function.module) if isinstance(callee, (ir.Name, ir.Attribute)) else None
        if isinstance(found, External) and found.name in names:
            return True
    return False


def _around(code: ir.Code, node: ir.Node | None) -> Iterator[ir.Expr]:
    for block in walk(code.body) if node is not None else ():
        if isinstance(block, ir.With) and any(part is node for part in walk((block.items, block.body))):
            yield from (manager for manager, _ in block.items)
