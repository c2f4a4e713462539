"""A place where a count is kept in, whether it begins there as a number, and whether anything computes with it, out."""

from __future__ import annotations

import ast

from graphlint.static.index.module import Module
from graphlint.static.index.parts import is_word, segments_with
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in
from graphlint.static.syntax.trees import nodes_in, tree_of


def kept_at(target: ir.Expr, code: ir.Code) -> ir.Expr | None:
    """What changes where something is added in place to a tensor: an attribute, an item, what a function is given or
    what a call gives; a name may stand for it.
    """
    if not isinstance(target, ir.Name):
        return target
    named = [(one.value, t) for one in assignments_in(code) for t in one.targets if isinstance(t, ir.Name)]
    given = [value for value, name in named if name.id == target.id]
    if not given:
        return target if any(one.name == target.id for one in code.parameters) else None
    return given[0] if len(given) == 1 and isinstance(given[0], (ir.Attribute, ir.Subscript, ir.Call)) else None


def starts_as_number(target: ir.Expr, code: ir.Code) -> bool:
    """Whether a function that adds to an item gives it a number at another place: `group["step"] = 0`."""
    match target:
        case ir.Subscript(index=ir.Literal(value=str(key))):
            return key in _numbered(code)
    return False


def is_read(target: ir.Expr, module: Module) -> bool:
    """Whether a file reads what is counted at a place, and does not only count on: by its name, or by its key."""
    match target:
        case ir.Attribute(attr=word) | ir.Subscript(index=ir.Literal(value=str(word))):
            kind = type(target)
            return any(
                _reads(module.source_of(segment), word, kind) for _, segment in segments_with(module, word, is_word)
            )
    return True


@remembered
def _reads(source: str, word: str, kind: type[ir.Expr]) -> bool:
    """Whether a piece of source has an attribute of a name; or an item, for which it may be handed to a call as well:
    `get("step", 0)`.
    """
    tree = tree_of(source)
    for part in nodes_in(tree) if tree is not None else ():
        match part:
            case ast.Attribute(attr=name, ctx=ast.Load()) if kind is ir.Attribute and name == word:
                return True
            case ast.Subscript(slice=ast.Constant(value=key), ctx=ast.Load()) if kind is ir.Subscript and key == word:
                return True
            case ast.Call(args=[ast.Constant(value=key), *_]) if kind is ir.Subscript and key == word:
                return True
    return False


@remembered
def _numbered(code: ir.Code) -> frozenset[str]:
    """The keys under which a function stores plain numbers."""
    return frozenset(
        target.index.value
        for part in assignments_in(code)
        if isinstance(part.value, ir.Literal) and type(part.value.value) is int
        for target in part.targets
        if isinstance(target, ir.Subscript)
        and isinstance(target.index, ir.Literal)
        and isinstance(target.index.value, str)
    )
