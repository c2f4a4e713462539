"""The flags for which nothing is captured in, whether a way goes through objects that are made under such a flag out.

`def why_not(self): if self.config.use_moe: return "experts"`, whose answer ends the function that would capture: what
is made by `Experts(config) if config.use_moe else Dense(config)` is in no graph, and the caller goes on eagerly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from graphlint.static.domain.callers import calls_by_name
from graphlint.static.domain.contexts import Context, Site
from graphlint.static.domain.program import Function, function_of, owner_of
from graphlint.static.index.module import ClassDefinition, nested_class
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import (
    assignments_to,
    attribute_in,
    calls_in,
    holds,
    last_name,
    stands_before,
    walk,
)

_ANSWERS = (None, False)  # of a function that finds nothing against it


def is_withheld(sites: tuple[Site, ...], place: Context, project: Project) -> bool:
    """Whether a way leads through a method of a class whose objects are made under such a flag alone."""
    if not sites or sites[0].node is None:
        return False
    opener = sites[0].function
    flags = _withheld_for(opener) | _ending_before(opener, (sites[0].node,))
    return bool(flags) and any(_is_made_under(cls, flags, project) for cls in _passed(sites[1:], place, project))


def _passed(sites: Iterable[Site], place: Context, project: Project) -> Iterator[ClassDefinition]:
    """The classes whose methods are called on a way."""
    yield from dict.fromkeys(site.function.owner for site in sites if site.function.owner is not None)
    classes = project.module_at(Path(place.path)).index.classes
    last = nested_class(classes, place.function.rpartition(":")[2].split(".")[:-1])
    if last is not None:
        yield last


@remembered_in_run
def _withheld_for(opener: Function) -> frozenset[str]:
    """The flags by which those end that would call a function that captures, in its module."""
    found: set[str] = set()
    for definition in opener.module.index.all_functions():
        if opener.module.holds(definition.segment, opener.code.name):
            caller = function_of(definition, owner_of(definition))
            if caller is not None:
                calls = (one for one in calls_in(caller.code) if last_name(one.func) == opener.code.name)
                found |= _ending_before(caller, tuple(calls))
    return frozenset(found)


@remembered_in_run
def _ending_before(function: Function, nodes: tuple[ir.Node, ...]) -> frozenset[str]:
    """The flags by which a function ends before it comes to one of some nodes, as what it asks for that says."""
    found: set[str] = set()
    for one in function.code.body:
        if not isinstance(one, ir.If) or not _returns(one.body) or any(holds(one.body, node) for node in nodes):
            continue
        if any(stands_before(one, node) for node in nodes):
            found |= set(_flags(one.test))
            for asked in _asked(function, one.test):
                found |= {flag for inner in _refusing(asked.code) for flag in _flags(inner.test)}
    return frozenset(found)


def _returns(block: ir.Block) -> bool:
    return bool(block) and isinstance(block[-1], ir.Return)


def _asked(caller: Function, test: ir.Expr) -> Iterator[Function]:
    """The function of the same object or module whose answer is asked for."""
    asked: list[ir.Expr | None] = [test]
    if isinstance(test, ir.Name):
        asked = [one.value for one in assignments_to(caller.code, test.id)]
    for call in asked if len(asked) == 1 else ():
        match call:
            case ir.Call(func=ir.Attribute(value=ir.Name(id=receiver), attr=name)) if receiver == caller.receiver:
                methods = caller.owner.methods.get(name, ()) if caller.owner is not None else ()
                made = (function_of(one, caller.owner) for one in methods)
                yield from (one for one in made if one is not None)
            case ir.Call(func=ir.Name(id=name)):
                made = (function_of(one) for one in caller.module.index.functions.get(name, ()))
                yield from (one for one in made if one is not None)


def _refusing(code: ir.Code) -> Iterator[ir.If]:
    """The branches of a function that give a reason."""
    for one in code.body:
        match one:
            case ir.If(body=[*_, ir.Return(value=given)]):
                if given is not None and not (isinstance(given, ir.Literal) and given.value in _ANSWERS):
                    yield one


def _flags(test: ir.Expr) -> Iterator[str]:
    """The flags each of which makes a test hold."""
    match test:
        case ir.Boolean(operator="or", left=left, right=right):
            yield from (*_flags(left), *_flags(right))
        case _ if name := attribute_in(test):
            yield name


@remembered_in_run
def _is_made_under(cls: ClassDefinition, flags: frozenset[str], project: Project) -> bool:
    """Whether all that a program makes of a class is made where one of these flags is set."""
    made = [pair for pair in calls_by_name(project, cls.name) if str(pair[1].module.path) not in project.trials]
    return bool(made) and all(_stands_under(call, caller.code, flags) for call, caller in made)


def _stands_under(call: ir.Call, code: ir.Code, flags: Set[str]) -> bool:
    for part in walk(code.body):
        if isinstance(part, (ir.Conditional, ir.If)) and holds(part.body, call):
            asked = set(_flags(part.test))
            if asked and asked <= flags:
                return True
    return False
