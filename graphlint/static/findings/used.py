"""A test for None and the calls on its way in, whether what it asks was used before, where None would have raised, out.

`params.offset = 0` stands before `model(x, params=params)`, which asks `if params is None`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.findings.origins import handed_on_way
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import children, holds, walk


def asks_for_used(assumed: Iterable[Assumption], sites: tuple[Site, ...]) -> bool:
    """Whether something is None on a way though its attributes or items have been read or written on it."""
    return any(
        _is_used(name, assumption.function, sites)
        for assumption in assumed
        if assumption.is_plain
        for test, outcome in assumption.asked
        for name in _nothing(test, outcome)
    )


def _nothing(test: ir.Expr, outcome: bool) -> Iterator[ir.Name]:
    """The name that is None where a test comes out like this."""
    match test:
        case ir.Compare(left=ir.Name() as name, comparisons=[("is" | "is not" as sign, ir.Literal(value=None))]):
            if outcome is (sign == "is"):
                yield name


def _is_used(name: ir.Name, function: Function, sites: tuple[Site, ...]) -> bool:
    for node, holder in handed_on_way(name, function, sites):
        if isinstance(node, ir.Name) and _is_used_before(holder.code, node):
            return True
    return False


@remembered
def _is_used_before(code: ir.Code, name: ir.Name) -> bool:
    """Whether a function surely uses an attribute or an item of what a name stands for before it gets to it."""
    is_used = False
    for part in _before(code.body, name):
        match part:
            case ir.Attribute(value=ir.Name(id=used)) | ir.Subscript(value=ir.Name(id=used)) if used == name.id:
                is_used = True
            case ir.Assign(targets=targets) if any(_binds(target, name.id) for target in targets):
                is_used = False
            case ir.For(target=target) | ir.Walrus(target=target) if _binds(target, name.id):
                is_used = False
            case ir.With(items=items) if any(_binds(target, name.id) for _, target in items):
                is_used = False
    return is_used


def _binds(target: ir.Expr | None, name: str) -> bool:
    parts = target.elements if isinstance(target, ir.Display) else (target,)
    return any(isinstance(part, ir.Name) and part.id == name for part in parts)


def _before(block: ir.Block, node: ir.Node) -> Iterator[object]:
    """What surely runs in a block before a node in it does, or as a part of the same expression."""
    for statement in block:
        if not holds(statement, node):
            yield from _surely(statement)
            continue
        match statement:
            case ir.If(body=body, orelse=orelse) | ir.While(body=body, orelse=orelse):
                blocks: tuple[ir.Block, ...] = (body, orelse)
            case ir.For(body=body, orelse=orelse):
                yield statement
                blocks = (body, orelse)
            case ir.With(body=body):
                yield statement
                blocks = (body,)
            case ir.Try(body=body):
                blocks = (body,)
            case _:
                return
        for inner in blocks:
            if holds(inner, node):
                yield from _before(inner, node)
        return


def _surely(node: object) -> Iterator[object]:
    """The parts of a node that run whenever it does, and what may bind a name anew."""
    pending = [node]
    while pending:
        part = pending.pop()
        match part:
            case ir.If(test=test) | ir.While(test=test) | ir.Conditional(test=test):
                yield from _bindings(part)
                pending.append(test)
            case ir.Boolean(left=left):
                pending.append(left)
            case ir.For(iterable=iterable):
                yield from _bindings(part)
                pending.append(iterable)
            case ir.Try():
                yield from _bindings(part)
            case ir.Comprehension() | ir.Lambda() | ir.Define() | ir.DefineClass() | ir.Match():
                continue
            case _:
                yield part
                pending += children(part)


def _bindings(node: object) -> Iterator[object]:
    return (part for part in walk(node) if isinstance(part, (ir.Assign, ir.For, ir.Walrus, ir.With)))
