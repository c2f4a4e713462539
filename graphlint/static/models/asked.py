"""A node and a name in, what it asks of the name out: what is asked of numbers and strings, and not of tensors."""

from __future__ import annotations

from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

EQUAL = ("==", "!=")


def asks_whether_equal(node: object, name: str) -> bool:
    """Whether a branch compares a name with something: of tensors, the answer would be one for each element."""
    for part in (part for test in tests_in(node) for part in walk(test)):
        match part:
            case ir.Compare(left=left, comparisons=((sign, right),)) if sign in EQUAL:
                if is_name(left, name) or is_name(right, name):
                    return True
    return False


def asks_how_large(node: object, name: str) -> bool:
    """Whether a branch compares a name itself with a number that is written down: `if degree > 2`."""
    asked = (part for test in tests_in(node) for part in walk(test) if isinstance(part, ir.Compare))
    compared = [(one.left, one.comparisons[0][1]) for one in asked]
    return any(is_name(one, name) and is_number(other) for sides in compared for one, other in (sides, sides[::-1]))


def tests_in(node: object) -> tuple[ir.Expr, ...]:
    """What a node asks for its truth: the test of a branch, and the sides of `and` and `or`."""
    match node:
        case ir.If(test=test) | ir.While(test=test) | ir.Assert(test=test) | ir.Conditional(test=test):
            return (test,)
        case ir.Boolean(left=left, right=right):
            return left, right
    return ()


def is_name(node: object, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name


def is_number(node: ir.Expr) -> bool:
    return isinstance(node, ir.Literal) and isinstance(node.value, (int, float))


def is_written(node: ir.Expr) -> bool:
    """Whether a node is a string or a display, such as `(-1, 0)`, which tensors are not compared with."""
    return isinstance(node, ir.Display) or (isinstance(node, ir.Literal) and isinstance(node.value, str))
