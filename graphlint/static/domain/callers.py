"""A method in, who calls it out: what they close over, whether an argument may stay, whether they ask before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import Definition, nested_class
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, assignments_to, calls_in, given_for, last_name, walk

_STEPS = 2  # functions that hand on what they are given


def hands_over(project: Project, method: Function, parameter: str) -> str | None:
    """Where somebody gives a method a function of their own that reads what they have made for it; None if nobody does.

    Calls are found by the name of the method: of which class the object is, these callers seldom say.
    """
    for where, _, code, given in _given(project, method, parameter):
        if isinstance(given, ir.Name) and _reads_what_is_made(code, given.id):
            return where
    return None


def may_stay(project: Project, method: Function, parameter: str, steps: int = _STEPS) -> bool:
    """Whether somebody gives a method what an object holds, so that it may be the same for each call.

    It may be handed on by a few functions, or be a part of what is held.
    """
    for _, definition, code, given in _given(project, method, parameter):
        if any(isinstance(_whole(one), ir.Attribute) for one in _bound(code, given)):
            return True
        function = function_of(definition) if _is_taken(code, given) and steps > 0 else None
        if isinstance(given, ir.Name) and function is not None:
            owner = nested_class(definition.module.index.classes, definition.qualname.split(".")[:-1])
            if may_stay(project, replace(function, owner=owner), given.id, steps - 1):
                return True
    return False


def _bound(code: ir.Code, given: ir.Expr | None) -> Iterator[ir.Expr | None]:
    """What a call gives, and what its name is bound to, if it is one."""
    yield given
    if isinstance(given, ir.Name):
        yield from (one.value for one in assignments_to(code, given.id))
        loops = (part for part in walk(code.body) if isinstance(part, ir.For))
        yield from (one.iterable for one in loops if isinstance(one.target, ir.Name) and one.target.id == given.id)


def _whole(node: ir.Expr | None) -> ir.Expr | None:
    """What an expression is an item of, if it is one of something."""
    while isinstance(node, ir.Subscript):
        node = node.value
    return node


def _is_taken(code: ir.Code, given: ir.Expr | None) -> bool:
    """Whether a call hands on what its function was given."""
    return isinstance(given, ir.Name) and any(one.name == given.id for one in code.parameters)


def asks_before(project: Project, method: Function) -> bool:
    """Whether all who call a method ask what an object holds before: `if self.graph is None: self.seed(x)`."""
    calls = [(code, call) for _, _, code, call in calls_of(project, method)]
    return bool(calls) and all(_stands_behind_test(code, call) for code, call in calls)


def _stands_behind_test(code: ir.Code, call: ir.Call) -> bool:
    branches = (part for part in walk(code.body) if isinstance(part, ir.If))
    asking = (one for one in branches if any(isinstance(part, ir.Attribute) for part in walk(one.test)))
    return any(part is call for one in asking for part in walk((*one.body, *one.orelse)))


def _given(
    project: Project, method: Function, parameter: str
) -> Iterator[tuple[str, Definition, ir.Code, ir.Expr | None]]:
    """Where a method is called, the function that does so, and what it gives for a parameter."""
    position = next((n for n, one in enumerate(method.code.parameters) if one.name == parameter), 0)
    position -= 1 if method.receiver is not None else 0
    for where, definition, code, call in calls_of(project, method):
        yield where, definition, code, given_for(call, parameter, position)


def calls_of(project: Project, method: Function) -> Iterator[tuple[str, Definition, ir.Code, ir.Call]]:
    """Where a method is called, the function that does so, and the call."""
    name = method.qualname.rpartition(".")[2]
    for module in project.calling(name):
        for definition in module.index.all_functions():
            code = definition.code if module.holds(definition.segment, name) else None
            for call in calls_in(code) if code is not None else ():
                is_method = isinstance(call.func, ir.Attribute) or method.receiver is None
                if code is not None and is_method and last_name(call.func) == name:
                    yield f"{module.path.name}:{definition.segment.first + call.pos[0]}", definition, code, call


def _reads_what_is_made(code: ir.Code, name: str) -> bool:
    """Whether a function inside of another reads something that a call there has made."""
    inner = (part.code for part in walk(code.body) if isinstance(part, ir.Define) and part.code.name == name)
    made = set(_made(code))
    return any(not made.isdisjoint(one.loads - {p.name for p in one.parameters}) for one in inner)


def _made(code: ir.Code) -> Iterator[str]:
    """The local names that are bound to what a call gives."""
    for assignment in assignments_in(code):
        if isinstance(assignment.value, ir.Call):
            yield from (part.id for target in assignment.targets for part in walk(target) if isinstance(part, ir.Name))
