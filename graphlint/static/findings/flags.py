"""A test of a flag and the calls on its way in, whether nobody in the program sets it to anything but its default out.

`run(x, sync=True)` would wait, and `sync: bool = False` is left out wherever `run` is called.
"""

from __future__ import annotations

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.callers import calls_of
from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.findings.left import is_replaced, literal_default
from graphlint.static.findings.origins import BY_OBJECTS, handed_on_way
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import given_for

_STEPS = 2  # functions that hand on a flag of their own


def is_never_set(test: ir.Expr, outcome: bool, function: Function, sites: tuple[Site, ...], project: Project) -> bool:
    """Whether a test needs a flag of what a region begins with to be set, and all calls of that leave it out."""
    match test:
        case ir.Unary(operator="not", operand=asked):
            return is_never_set(asked, not outcome, function, sites, project)
        case ir.Boolean(operator=operator, left=left, right=right) if (operator == "and") is outcome:
            return any(is_never_set(one, outcome, function, sites, project) for one in (left, right))
        case ir.Name():
            flag, holder = list(handed_on_way(test, function, sites))[-1]
            if isinstance(flag, ir.Name) and _default(holder.code, flag.id) is (not outcome):
                return not is_replaced(holder.code, flag.id, flag) and _is_left_out(project, holder, flag.id, _STEPS)
    return False


def _default(code: ir.Code, name: str) -> object:
    default = literal_default(code, name)
    return None if default is None else default.value


@remembered_in_run
def _is_left_out(project: Project, function: Function, name: str, steps: int) -> bool:
    """Whether each call of a function leaves a flag as it is by default; what objects are called by has no name."""
    default, names = _default(function.code, name), [one.name for one in function.code.parameters]
    called = [] if function.code.name in BY_OBJECTS else [function.code.name]
    spelt = rf"\b{name}=(?!=|\s*(?:{default}|{name})\b)|['\"]{name}['\"]\s*:\s*(?!{default}\b)"
    if project.answering(HoldsAny(called or [name], spelt)):
        return False
    position = names.index(name) - (names[0] in ("self", "cls"))
    for call, caller in calls_of(project, function) if called else ():
        match given_for(call, name, position):
            case None if not any(one.star for one in call.arguments):
                continue
            case ir.Literal(value=given) if given is default:
                continue
            case ir.Name(id=handed) if steps and _default(caller.code, handed) is default:
                if _is_left_out(project, caller, handed, steps - 1):
                    continue
        return False
    return True
