"""A method that is handed a callable in, who calls it out: what the callable closes over goes with that call."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.program import Function
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, calls_in, given_for, walk


def hands_over(project: Project, method: Function, parameter: str) -> str | None:
    """Where somebody gives a method a function of their own that reads what they have made for it; None if nobody does.

    Calls are found by the name of the method: of which class the object is, these callers seldom say.
    """
    name = method.qualname.rpartition(".")[2]
    position = next((n for n, one in enumerate(method.code.parameters) if one.name == parameter), 0) - 1
    for module in project.calling(name):
        for definition in module.index.all_functions():
            code = definition.code if module.holds(definition.segment, name) else None
            for call in calls_in(code) if code is not None else ():
                if code is not None and isinstance(call.func, ir.Attribute) and call.func.attr == name:
                    given = given_for(call, parameter, position)
                    if isinstance(given, ir.Name) and _reads_what_is_made(code, given.id):
                        return f"{module.path.name}:{definition.segment.first + call.pos[0]}"
    return None


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
