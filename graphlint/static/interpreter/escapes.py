"""An object that a function makes in front of a region in, whether it may outlive the function out (escape analysis).

What it is handed to by a call may keep it: whether something does, the heap tells. What it is an attribute of does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from graphlint.static.domain.program import Bound, Instance
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, defined_in, last_name, names_in, walk
from graphlint.values import Value
from graphlint.values.queries import parts_of

_GATHERED = ("dict", "enumerate", "iter", "list", "reversed", "set", "tuple", "zip")  # calls that give what they hold
_KEPT = ("add", "append", "appendleft", "extend", "insert", "partial", "register", "setdefault", "update")


@remembered
def may_escape(call: ir.Call, code: ir.Code, replays: re.Pattern[str]) -> bool:
    """Whether a function returns what a call in it makes, gives it to an object or a container, makes it global, or has
    it when a graph is replayed, by the name of a method.
    """
    names = _names_of(call, code)
    if names is None:
        return True
    given: list[ir.Expr | None] = []
    for part in walk(code.body):
        match part:
            case ir.Return(value=value) | ir.Yield(value=value):
                given.append(value)
            case ir.Scope(names=declared) if names.intersection(declared):
                return True
            case ir.Call(func=ir.Attribute(attr=name)) if replays.match(name):
                return True
            case ir.Call(func=func, arguments=arguments) if _keeps(func):
                given += [argument.value for argument in arguments]
            case ir.Call(arguments=arguments) if any(argument.value is call for argument in arguments):
                return True
    return any(value is not None and _holds(value, call, names) for value in given)


def has(value: Value, instance: Instance) -> bool:
    """Whether a value is an object, a method of it, or a container of either."""
    if isinstance(value, Bound):
        value = value.receiver
    return value is instance or any(has(part, instance) for part in parts_of(value))


def _names_of(call: ir.Call, code: ir.Code) -> frozenset[str] | None:
    """The names that may hold what a call makes; None if something else is given it."""
    names: set[str] = set()
    known = -1
    while len(names) != known:
        known = len(names)
        for target, value in _bound(code):
            if _holds(value, call, names):
                held = _named(target)
                if held is None:
                    return None
                names |= held
        names |= {one.name for one in defined_in(code) if not names.isdisjoint(names_in(one.body))}
    return frozenset(names)


def _bound(code: ir.Code) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is assigned in a function, and to what."""
    for assigned in assignments_in(code):
        for target in assigned.targets:
            if assigned.value is not None:
                yield target, assigned.value
    for part in walk(code.body):
        if isinstance(part, ir.With):
            yield from ((target, value) for value, target in part.items if target is not None)


def _named(target: ir.Expr) -> set[str] | None:
    """The names that a target stands for; None if it is part of an object."""
    match target:
        case ir.Name(id=name) | ir.Subscript(value=ir.Name(id=name)):
            return {name}
        case ir.Display(elements=elements):
            named = [_named(one) for one in elements]
            return None if None in named else {name for one in named for name in one or ()}
    return None


def _holds(value: ir.Expr, call: ir.Call, names: Set[str]) -> bool:
    """Whether a value is what the call makes, a container of it, or a function that closes over it."""
    if value is call:
        return True
    match value:
        case ir.Name(id=name):
            return name in names
        case ir.Display(elements=inner):
            return any(_holds(one, call, names) for one in inner)
        case ir.DictDisplay(items=items):
            return any(_holds(one, call, names) for _, one in items)
        case ir.Comprehension(element=one) | ir.Starred(value=one) | ir.Walrus(value=one) | ir.Subscript(value=one):
            return _holds(one, call, names)
        case ir.Conditional(body=one, orelse=other) | ir.Boolean(left=one, right=other):
            return _holds(one, call, names) or _holds(other, call, names)
        case ir.Lambda(code=code):
            return not names.isdisjoint(names_in(code.body))
        case ir.Call(func=ir.Attribute(value=one)) if _holds(one, call, names):
            return True  # many methods give their object: `net.cuda()`
        case ir.Call(func=func, arguments=arguments) if _keeps(func) or _is_gathered(func):
            return any(_holds(argument.value, call, names) for argument in arguments)
    return False


def _is_gathered(func: ir.Expr) -> bool:
    return isinstance(func, ir.Name) and func.id in _GATHERED


def _keeps(func: ir.Expr) -> bool:
    """Whether what is called keeps what it is given: a class, by its name, or a method that adds to something."""
    name = last_name(func) or ""
    return name in _KEPT or name.lstrip("_")[:1].isupper()
