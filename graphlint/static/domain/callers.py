"""A method in, who calls it out: what they close over, whether an argument may stay, whether they ask before."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.program import Function, function_of, owner_of
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import (
    assignments_in,
    assignments_to,
    calls_in,
    defined_in,
    given_for,
    last_name,
    walk,
)

_STEPS = 2  # functions that hand on what they are given


def hands_over(project: Project, method: Function, parameter: str) -> str | None:
    """Where somebody gives a method a function of their own that reads what they have made for it; None if nobody does.

    Calls are found by the name of the method: of which class the object is, these callers seldom say.
    """
    for call, caller, given in _given(project, method, parameter):
        if isinstance(given, ir.Name) and _reads_what_is_made(caller.code, given.id):
            return place_of(call, caller)
    return None


def may_stay(project: Project, method: Function, parameter: str, steps: int = _STEPS) -> bool:
    """Whether somebody gives a method what an object holds, so that it may be the same for each call.

    It may be handed on by a few functions, or be a part of what is held.
    """
    for _, caller, given in _given(project, method, parameter):
        if any(isinstance(_whole(one), ir.Attribute) for one in _bound(caller.code, given)):
            return True
        is_taken = isinstance(given, ir.Name) and any(one.name == given.id for one in caller.code.parameters)
        if steps > 0 and isinstance(given, ir.Name) and is_taken and may_stay(project, caller, given.id, steps - 1):
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


def asks_before(project: Project, method: Function) -> bool:
    """Whether all who call a method ask what an object holds before: `if self.graph is None: self.seed(x)`."""
    calls = list(calls_of(project, method))
    return bool(calls) and all(_stands_behind_test(caller.code, call) for call, caller in calls)


def _stands_behind_test(code: ir.Code, call: ir.Call) -> bool:
    branches = (part for part in walk(code.body) if isinstance(part, ir.If))
    asking = (one for one in branches if any(isinstance(part, ir.Attribute) for part in walk(one.test)))
    return any(part is call for one in asking for part in walk((*one.body, *one.orelse)))


def _given(project: Project, method: Function, parameter: str) -> Iterator[tuple[ir.Call, Function, ir.Expr | None]]:
    """The calls of a method, the functions that make them, and what they give for a parameter."""
    position = next((n for n, one in enumerate(method.code.parameters) if one.name == parameter), 0)
    position -= 1 if method.receiver is not None else 0
    for call, caller in calls_of(project, method):
        yield call, caller, given_for(call, parameter, position)


def calls_of(project: Project, function: Function) -> Iterator[tuple[ir.Call, Function]]:
    """The calls of a function or a method by its name, each with the function that makes it."""
    for call, caller in calls_by_name(project, function.qualname.rpartition(".")[2]):
        if isinstance(call.func, ir.Attribute) or function.receiver is None:
            yield call, caller


def calls_by_name(project: Project, name: str, *beside: str) -> Iterator[tuple[ir.Call, Function]]:
    """The calls of something by a name, each with the function that makes it and has these words beside it."""
    for module in project.calling(name):
        for definition in module.index.all_functions():
            if not all(module.holds(definition.segment, word) for word in (name, *beside)):
                continue
            caller = function_of(definition, owner_of(definition))
            for call in calls_in(caller.code) if caller is not None else ():
                if caller is not None and last_name(call.func) == name:
                    yield call, caller


def place_of(call: ir.Call, caller: Function) -> str:
    """The file and the line of a call, for a message."""
    return f"{caller.module.path.name}:{caller.first_line + call.pos[0]}"


def _reads_what_is_made(code: ir.Code, name: str) -> bool:
    """Whether a function inside of another reads something that a call there has made."""
    inner = (one for one in defined_in(code) if one.name == name)
    made = set(_made(code))
    return any(not made.isdisjoint(one.loads - {p.name for p in one.parameters}) for one in inner)


def _made(code: ir.Code) -> Iterator[str]:
    """The local names that are bound to what a call gives."""
    for assignment in assignments_in(code):
        if isinstance(assignment.value, ir.Call):
            yield from (part.id for target in assignment.targets for part in walk(target) if isinstance(part, ir.Name))
