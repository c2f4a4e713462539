"""A function and a parameter in, whether all who call it hand in what is no tensor: numbers, and lists of them, out.

Who calls the `forward` of an autograd function applies it, by its class or by another name for its `apply`.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.models.asked import called_by
from graphlint.static.models.uses import promises_plain, returns_plain
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    assignments_in,
    assignments_to,
    given_for,
    is_none,
    names_in,
    targets_of,
    walk,
    words_in,
)

_APPLY = "apply"
_MADE = frozenset({"bool", "float", "int", "len", "list", "str", "tuple"})
_NAMES = 2  # for names, one after the other


def is_handed_plain(evaluator: Evaluator, function: Function, name: str, depth: int = _NAMES) -> bool:
    """Whether what is handed in for a parameter is a number, a string, a list or None wherever it is handed in.

    So it is where one function hands on what it is given, if all who call that one hand in such.
    """
    owner, kinds = function.owner, evaluator.lexicon.callables
    position = [one.name for one in function.code.parameters].index(name)
    if owner is None and not function.is_nested:
        calls = _calls(evaluator, function.code.name, function)
    elif (
        owner is not None
        and function.code.name == "forward"
        and any(kinds.get(base) == "applied" for base in evaluator.external_bases(owner))
    ):
        position -= 1  # the first is the context
        calls = _applications(evaluator, owner)
    else:
        return False
    is_handed = False
    for call, caller in calls:  # whose functions are read one by one: most that hand in a tensor do so at once
        given = given_for(call, name, position)
        if _may_hide(call, position):
            return False
        if given is not None and not is_none(given):
            is_handed = True
            if not _is_plain(evaluator, given, caller, caller.module, depth):
                return False
    return is_handed


def _may_hide(call: ir.Call, position: int) -> bool:
    """Whether a star may give what stands at a position, or move it."""
    before = [one for one in call.arguments if one.keyword is None][: position + 1]
    return any(one.star == "*" for one in before)


def _applications(evaluator: Evaluator, owner: ClassDefinition) -> Iterator[tuple[ir.Call, Function]]:
    """The calls that apply an autograd function, as far as they name it, each with the function that holds it."""
    for call, caller in _calls(evaluator, _APPLY, None, owner.name):
        if owner.name in words_in(call.func):
            yield call, caller
    for name, segments in owner.module.index.assignments.items():
        for segment in segments if name not in owner.module.index.classes else ():
            if owner.module.holds(segment, f"{owner.name}.{_APPLY}"):
                yield from _calls(evaluator, name, None)


def _calls(
    evaluator: Evaluator, name: str, function: Function | None, *beside: str
) -> Iterator[tuple[ir.Call, Function]]:
    """The calls of something by a name, which are none of another function."""
    for call, caller in calls_by_name(evaluator.project, name, *beside):
        if _may_be(call, name, function, caller.module):
            yield call, caller


def _may_be(call: ir.Call, name: str, function: Function | None, module: Module) -> bool:
    """Whether a call may be one of a function; None is any that nobody knows by its name.

    What is called is not looked up: that would be the function, which may be just about to be made.
    """
    match call.func:
        case ir.Attribute(value=ir.Name(id="self")):
            return function is None
        case ir.Name() if function is not None and module is not function.module:
            return name not in module.index.functions
    return True


def _is_plain(
    evaluator: Evaluator, node: ir.Expr, caller: Function | None, module: Module, depth: int = _NAMES
) -> bool:
    """Whether what stands in a function, or else at the top level of a module, is no tensor and holds none."""
    match node:
        case ir.Literal():
            return True
        case ir.Unary(operand=operand):
            return _is_plain(evaluator, operand, caller, module, depth)
        case ir.Binary(left=left, right=right):
            return all(_is_plain(evaluator, side, caller, module, depth) for side in (left, right))
        case ir.Display(elements=elements):
            return all(_is_plain(evaluator, element, caller, module, depth) for element in elements)
        case ir.Call(func=ir.Name(id=name)):
            return name in _MADE and called_by(evaluator, node, module) == [f"builtins.{name}"]
        case ir.Call(func=ir.Attribute(attr=attr)) | ir.Subscript(value=ir.Attribute(attr=attr)):
            return returns_plain(evaluator, attr)
        case ir.Attribute(attr=attr):
            return returns_plain(evaluator, attr)
        case ir.Name(id=name) if depth:
            taken = [one for one in caller.code.parameters if one.name == name] if caller is not None else []
            bound = [one.value for one in assignments_to(caller.code, name)] if caller is not None else []
            if not (taken or bound):
                is_own = caller is not None and _is_bound(caller.code, name)
                return not is_own and _is_plain_there(evaluator, name, module, depth - 1)
            return all(_is_taken_plain(evaluator, caller, one, depth - 1) for one in taken if caller is not None) and (
                all(one is not None and _is_plain(evaluator, one, caller, module, depth - 1) for one in bound)
            )
    return False


def _is_taken_plain(evaluator: Evaluator, function: Function, parameter: ir.Parameter, depth: int) -> bool:
    """Whether a parameter is promised to be plain, or is handed in so where nothing is promised of it."""
    if promises_plain(evaluator, function, parameter):
        return True
    return parameter.annotation is None and is_handed_plain(evaluator, function, parameter.name, depth)


def _is_plain_there(evaluator: Evaluator, name: str, module: Module, depth: int) -> bool:
    """Whether what the top level of a module gives a name, or imports by it, is no tensor and holds none."""
    given = [one for segment in module.index.assignments.get(name, ()) for one in module.lowered(segment)]
    values = [one.value for one in given if isinstance(one, ir.Assign) and isinstance(one.targets[0], ir.Name)]
    plain = [one is not None and _is_plain(evaluator, one, None, module, depth) for one in values]
    for imported in module.index.imports.get(name, ()) if depth else ():
        source = evaluator.project.module(imported.module) if imported.member else None
        plain.append(source is not None and _is_plain_there(evaluator, imported.member or "", source, depth - 1))
    return bool(plain) and len(values) == len(given) and all(plain)


def _is_bound(code: ir.Code, name: str) -> bool:
    """Whether a function binds a name otherwise than by assigning one value to it."""
    targets = [target for one in assignments_in(code) for target in targets_of(one)]
    for part in walk(code.body):
        if isinstance(part, ir.For):
            targets.append(part.target)
        elif isinstance(part, ir.Comprehension):
            targets += [target for target, _, _ in part.clauses]
    return any(name in names_in(target) for target in targets)
