"""A method in, who calls it out: what they close over, whether an argument may stay, whether they ask before."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.program import Function
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, assignments_to, calls_in, given_for, walk


def hands_over(project: Project, method: Function, parameter: str) -> str | None:
    """Where somebody gives a method a function of their own that reads what they have made for it; None if nobody does.

    Calls are found by the name of the method: of which class the object is, these callers seldom say.
    """
    for where, code, given in _given(project, method, parameter):
        if isinstance(given, ir.Name) and _reads_what_is_made(code, given.id):
            return where
    return None


def may_stay(project: Project, method: Function, parameter: str) -> bool:
    """Whether somebody gives a method what an object holds, so that it may be the same for each call."""
    for _, code, given in _given(project, method, parameter):
        bound = (one.value for one in assignments_to(code, given.id)) if isinstance(given, ir.Name) else ()
        if any(isinstance(one, ir.Attribute) for one in (given, *bound)):
            return True
    return False


def asks_before(project: Project, method: Function) -> bool:
    """Whether all who call a method ask what an object holds before: `if self.graph is None: self.seed(x)`."""
    calls = [(code, call) for _, code, call in _calls(project, method)]
    return bool(calls) and all(_stands_behind_test(code, call) for code, call in calls)


def _stands_behind_test(code: ir.Code, call: ir.Call) -> bool:
    branches = (part for part in walk(code.body) if isinstance(part, ir.If))
    asking = (one for one in branches if any(isinstance(part, ir.Attribute) for part in walk(one.test)))
    return any(part is call for one in asking for part in walk((*one.body, *one.orelse)))


def _given(project: Project, method: Function, parameter: str) -> Iterator[tuple[str, ir.Code, ir.Expr | None]]:
    """Where a method is called, the function that does so, and what it gives for a parameter."""
    position = next((n for n, one in enumerate(method.code.parameters) if one.name == parameter), 0) - 1
    for where, code, call in _calls(project, method):
        yield where, code, given_for(call, parameter, position)


def _calls(project: Project, method: Function) -> Iterator[tuple[str, ir.Code, ir.Call]]:
    """Where a method is called, the function that does so, and the call."""
    name = method.qualname.rpartition(".")[2]
    for module in project.calling(name):
        for definition in module.index.all_functions():
            code = definition.code if module.holds(definition.segment, name) else None
            for call in calls_in(code) if code is not None else ():
                if code is not None and isinstance(call.func, ir.Attribute) and call.func.attr == name:
                    yield f"{module.path.name}:{definition.segment.first + call.pos[0]}", code, call


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
