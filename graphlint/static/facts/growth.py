"""What stands around a place where something is kept in, whether it grows from one run to the next out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in

_ORDER = frozenset({"<", "<=", ">", ">="})


def enlarges(target: ir.Expr, conditions: Iterable[ir.Expr]) -> bool:
    """Whether a condition compares a size of what is assigned: `if n > self.storage.numel(): self.storage = ...`."""
    for condition in conditions:
        for part in _parts(condition):
            if (
                isinstance(part, ir.Compare)
                and any(sign in _ORDER for sign, _ in part.comparisons)
                and any(is_same(inner, target) for inner in _parts(part))
            ):
                return True
    return False


def may_be_held(target: ir.Expr, code: ir.Code) -> bool:
    """Whether what is assigned comes of a call that is given what was there: `y, self.last = run(x, self.last)`."""
    calls = (one.value for one in assignments_in(code) if isinstance(one.value, ir.Call) and target in _targets(one))
    return any(is_same(given.value, target) for call in calls for given in call.arguments)


def _targets(assigned: ir.Assign) -> Iterator[ir.Expr]:
    for target in assigned.targets:
        yield from target.elements if isinstance(target, ir.Display) else (target,)


def is_replaced(container: ir.Expr, code: ir.Code) -> bool:
    """Whether a function makes the container anew that it fills: `self.rows = []; self.rows.append(...)`."""
    made = (
        part for part in assignments_in(code) if isinstance(part.value, (ir.Display, ir.DictDisplay, ir.Comprehension))
    )
    return any(is_same(target, container) for part in made for target in part.targets)


def is_replaced_before(container: ir.Expr, name: str, methods: Iterable[ir.Code]) -> bool:
    """Whether each of the methods that call one by its name makes the container anew that this one fills."""
    calling = [code for code in methods if any(_is_own(call.func, name) for call in calls_in(code))]
    return bool(calling) and all(is_replaced(container, code) for code in calling)


def _is_own(callee: ir.Expr, name: str) -> bool:
    return (
        isinstance(callee, ir.Attribute)
        and callee.attr == name
        and isinstance(callee.value, ir.Name)
        and callee.value.id == "self"
    )


def _parts(node: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and those inside it, as far as conditions on sizes go."""
    yield node
    inner: tuple[ir.Expr, ...] = ()
    if isinstance(node, (ir.Attribute, ir.Subscript)):
        inner = (node.value,)
    elif isinstance(node, ir.Call):
        inner = (node.func, *(argument.value for argument in node.arguments))
    elif isinstance(node, (ir.Boolean, ir.Binary)):
        inner = (node.left, node.right)
    elif isinstance(node, ir.Unary):
        inner = (node.operand,)
    elif isinstance(node, ir.Compare):
        inner = (node.left, *(right for _, right in node.comparisons))
    for part in inner:
        yield from _parts(part)


def is_same(left: ir.Expr, right: ir.Expr) -> bool:
    """Whether two dotted names are the same."""
    if isinstance(left, ir.Attribute) and isinstance(right, ir.Attribute):
        return left.attr == right.attr and is_same(left.value, right.value)
    return isinstance(left, ir.Name) and isinstance(right, ir.Name) and left.id == right.id
