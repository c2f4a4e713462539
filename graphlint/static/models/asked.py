"""A node and a name in, what it asks of the name out: what is asked of numbers and strings, and not of tensors."""

from __future__ import annotations

from graphlint.rulebook.operations import TENSOR
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_to, calls_in, walk
from graphlint.values import External, Value, members

EQUAL = ("==", "!=")
_TEXTS = frozenset({"builtins.bytes", "builtins.str"})


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


def called_by(evaluator: Evaluator, call: ir.Call, module: Module) -> list[str]:
    """What a call calls outside of the project, by qualified names."""
    callee: Value = evaluator.static_value(call.func, module)
    return [member.name for member in members(callee) if isinstance(member, External)]


def is_asked(evaluator: Evaluator, function: Function, name: str) -> bool:
    """Whether a function asks of a parameter whether it is a tensor: `isinstance(scale, torch.Tensor)`."""
    tests = evaluator.lexicon.tensors["tests"]
    asking = (call for call in calls_in(function.code) if call.arguments and is_name(call.arguments[0].value, name))
    return TENSOR in _classes_of(evaluator, function, name) or any(
        not tests.isdisjoint(called_by(evaluator, call, function.module)) for call in asking
    )


def is_text(evaluator: Evaluator, function: Function, name: str) -> bool:
    """Whether a function asks whether a parameter is a string, or takes apart what `str` makes of it.

    It may still be a tensor where the function asks for that, too, or reads one from what the string names.
    """
    code, module = function.code, function.module
    if is_asked(evaluator, function, name) or any(isinstance(o.value, ir.Call) for o in assignments_to(code, name)):
        return False
    if not _TEXTS.isdisjoint(_classes_of(evaluator, function, name)):
        return True
    made = (part.value for part in walk(code.body) if isinstance(part, ir.Attribute))
    calls = (one for one in made if isinstance(one, ir.Call) and any(is_name(a.value, name) for a in one.arguments))
    return any("builtins.str" in called_by(evaluator, call, module) for call in calls)


def _classes_of(evaluator: Evaluator, function: Function, name: str) -> set[str]:
    """The classes outside of the project of which a function asks whether a parameter is one of their objects."""
    found: set[str] = set()
    asking = (call for call in calls_in(function.code) if call.arguments and is_name(call.arguments[0].value, name))
    for call in asking:
        if "builtins.isinstance" in called_by(evaluator, call, function.module):
            found.update(*(_classes(evaluator, argument, function) for argument in call.arguments[1:2]))
    return found


def _classes(evaluator: Evaluator, argument: ir.Argument, function: Function) -> set[str]:
    """The classes outside of the project that a test names."""
    node = argument.value
    asked = node.elements if isinstance(node, ir.Display) else (node,)
    found = [member for one in asked for member in members(evaluator.static_value(one, function.module))]
    return {member.name for member in found if isinstance(member, External)}
