"""A call of what an object holds in, the names of the classes out that its constructor is given for that.

`self.model(x)` of `Engine(model, cache)` runs what stands in front of the call that makes the engine, `model = Net()`,
though nothing leads from there into the region.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.program import Class
from graphlint.static.index.module import ClassDefinition, Definition
from graphlint.static.index.parts import function_at
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.holes import Hole
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import assignments_in, assignments_to, given_for, last_name, targets_of

_DEPTH = 4  # of names for names, and of functions that hand something on
_INITIAL = "__init__"


def classes_handed_in(interpreter: Interpreter, hole: Hole) -> frozenset[str]:
    """The names of the classes that are handed to a constructor for what a hole calls; none if that is not seen."""
    module_name, _, qualname = hole.functions[-1].partition(":")
    match hole.made.node.func:
        case (
            ir.Attribute(value=ir.Name(id="self"), attr=attribute)
            | ir.Attribute(value=ir.Attribute(value=ir.Name(id="self"), attr=attribute))
        ):
            module = interpreter.project.module(module_name)
            owner = module.index.classes.get(qualname.split(".")[0]) if module is not None else None
            return frozenset(_held(interpreter, owner, attribute, _DEPTH)) if owner is not None else frozenset()
    return frozenset()


def _held(interpreter: Interpreter, owner: ClassDefinition, attribute: str, depth: int) -> Iterator[str]:
    """The names of the classes of what the constructor of a class puts into an attribute."""
    for made in owner.methods.get(_INITIAL, ()):
        for one in assignments_in(made.code) if made.code is not None else ():
            is_it = any(isinstance(t, ir.Attribute) and t.attr == attribute for t in targets_of(one))
            if is_it and one.value is not None:
                yield from _made(interpreter, one.value, made, owner, depth)


def _made(
    interpreter: Interpreter, node: ir.Expr, at: Definition, owner: ClassDefinition | None, depth: int
) -> Iterator[str]:
    """The names of the classes of an expression in a function, through what moves and casts it."""
    code = at.code
    if code is None or not depth:
        return
    match node:
        case ir.Conditional(body=body, orelse=orelse):
            for one in (body, orelse):
                yield from _made(interpreter, one, at, owner, depth)
        case ir.Call(func=ir.Name() | ir.Attribute() as func) if _is_class(last_name(func)):
            yield last_name(func) or ""
        case ir.Call(func=ir.Attribute(value=ir.Name(id=name))) if _is_class(name) and not name.isupper():
            yield name  # which makes one of itself; `F` and `T` are modules
        case ir.Call(func=ir.Name(id=name), arguments=[ir.Argument(value=given), *_]) if (
            name in at.module.index.functions
        ):
            changing = at.module.index.functions[name][-1].code
            yield from _promised(interpreter, changing.parameters[:1] if changing is not None else (), at)
            yield from _made(interpreter, given, at, owner, depth - 1)
        case ir.Call(func=ir.Attribute(value=ir.Call() | ir.Name() | ir.Attribute() as moved)) if not _is_self(moved):
            yield from _made(interpreter, moved, at, owner, depth - 1)
        case ir.Attribute(value=ir.Name(id="self"), attr=name) if owner is not None:
            yield from _held(interpreter, owner, name, depth - 1)
        case ir.Name() if owner is not None and _is_self(node):
            yield owner.name
        case ir.Name(id=name):
            values = [one.value for one in assignments_to(code, name) if one.value is not None]
            for value in values:
                yield from _made(interpreter, value, at, owner, depth - 1)
            taken = [one for one in code.parameters if one.name == name and not values]
            yield from _promised(interpreter, taken, at)
            if taken:
                yield from _given(interpreter, at, owner, name, depth - 1)


def _promised(interpreter: Interpreter, parameters: Iterable[ir.Parameter], at: Definition) -> Iterator[str]:
    """The names of the classes that parameters are promised to be of, from which no others are derived."""
    for one in parameters:
        if isinstance(one.annotation, (ir.Attribute, ir.Name)):
            promised = interpreter.static_value(one.annotation, at.module)
            if isinstance(promised, Class) and not interpreter.classes.subclasses(promised.definition):
                yield promised.definition.name


def _given(
    interpreter: Interpreter, to: Definition, owner: ClassDefinition | None, name: str, depth: int
) -> Iterator[str]:
    """The names of the classes that callers give a parameter of a function, or of a constructor by its class."""
    if to.code is None:
        return
    is_method = owner is not None
    position = [one.name for one in to.code.parameters].index(name) - is_method
    called_as = owner.name if owner is not None and to.name == _INITIAL else to.name
    for call, caller in calls_by_name(interpreter.project, called_as):
        given = given_for(call, name, position)
        at = function_at(caller.module, caller.first_line)
        if given is not None and at is not None and not is_test(caller.module.name):
            yield from _made(interpreter, given, at, caller.owner, depth)


def _is_self(node: ir.Expr) -> bool:
    return isinstance(node, ir.Name) and node.id == "self"


def _is_class(name: str | None) -> bool:
    return name is not None and name.strip("_")[:1].isupper()
