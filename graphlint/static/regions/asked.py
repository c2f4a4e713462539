"""A hole and a class that a glob names for it in, whether objects of the class lack what is surely asked of it out.

`backend.prepare(batch)` in a region, and `for one in backend.parts` behind it: what has no parts is no such backend.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.program import Function, Instance, function_of
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.holes import Hole
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import assignments_to, calls_in, given_for, surely_in, walk

_TELLING_APART = ("callable", "getattr", "hasattr", "isinstance", "issubclass", "type")


def lacks_asked(interpreter: Interpreter, cls: ClassDefinition, hole: Hole) -> bool:
    """Whether the function of a hole asks its object for something that those of a class do not have."""
    function = hole.made.frame.function
    match hole.made.node.func:
        case ir.Attribute(value=ir.Name(id=name)) if hole.method is not None and name != function.receiver:
            asked, made = _asked_of(function, name), interpreter.heap.promised(cls)
            return isinstance(made, Instance) and any(interpreter.heap.lacks(made, one) for one in asked)
    return False


@remembered_in_run
def _asked_of(function: Function, name: str) -> frozenset[str]:
    """The attributes that a function surely asks a parameter for, itself or in a method that it hands it on to."""
    if not _is_kept(function.code, name):
        return frozenset()
    handed = (one for call, method in _own_calls(function) for one in _asked_there(call, method, name))
    return frozenset([*_read_of(function.code, name), *handed])


def _is_kept(code: ir.Code, name: str) -> bool:
    """Whether a name is that of a parameter which stays what it is, and is not asked what it is."""
    asking = (one for one in calls_in(code) if isinstance(one.func, ir.Name) and one.func.id in _TELLING_APART)
    is_asked = any(_is_name(given_for(one, "", 0), name) for one in asking)
    return any(one.name == name for one in code.parameters) and not assignments_to(code, name) and not is_asked


def _read_of(code: ir.Code, name: str) -> Iterator[str]:
    given = [target for part in walk(code.body) if isinstance(part, ir.Assign) for target in part.targets]
    for part in surely_in(code.body, {}):
        if isinstance(part, ir.Attribute) and _is_name(part.value, name) and part not in given:
            yield part.attr


def _own_calls(function: Function) -> Iterator[tuple[ir.Call, Function]]:
    """The calls of methods of its own object that a function surely makes."""
    for part in surely_in(function.code.body, {}):
        match part:
            case ir.Call(func=ir.Attribute(value=ir.Name(id=own), attr=method)) if own == function.receiver:
                definitions = function.owner.methods.get(method, ()) if function.owner is not None else ()
                found = function_of(definitions[-1], function.owner) if definitions else None
                if found is not None:
                    yield part, found


def _asked_there(call: ir.Call, method: Function, name: str) -> Iterator[str]:
    names = [parameter.name for parameter in method.code.parameters]
    for position, parameter in enumerate(names[method.receiver is not None :]):
        if _is_name(given_for(call, parameter, position), name) and _is_kept(method.code, parameter):
            yield from _read_of(method.code, parameter)


def _is_name(node: ir.Expr | None, name: str) -> bool:
    return isinstance(node, ir.Name) and node.id == name
