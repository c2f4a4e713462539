"""Conditions of one way that cannot hold together, though they are spelt in different words.

`counts is None` speaks of `self.ranks > 1` where the caller has handed in `make() if self.ranks > 1 else None`, and
that of `config.parallel.size > 1` where a property or the only assignment says so. What is handed on under a name
before a region, as in `set_context(slices=slices)`, is read under that name in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.contexts import OpenRegion, Site
from graphlint.static.domain.program import Function, function_of
from graphlint.static.findings.promises import Promises
from graphlint.static.index.module import ClassDefinition, Definition, nested_class
from graphlint.static.index.parts import function_at, stores
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.traversal import assignments_in, calls_in, excludes, is_none, stands_before, walk

Order: TypeAlias = Callable[[ClassDefinition], Iterable[ClassDefinition | str]]

_POSITIVE = {"!=": "==", "is not": "is", ">=": "<", "<=": ">", "not in": "in"}
BY_OBJECTS = ("__call__", "forward")  # what a call of an object leads to, under whatever name that goes
_HANDED = "<handed on>"  # the holder of what was handed on under a name


@dataclass(frozen=True, slots=True)
class Fact:
    """What is compared with a literal, or asked for its truth: a name, and the one in front of its dot."""

    name: str
    holder: str
    sign: str = ""
    literal: object = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """An expression where it stands, with the calls on the way there."""

    node: ir.Expr
    function: Function
    sites: tuple[Site, ...] = ()


def contradicts(
    assumed: Iterable[Assumption], sites: tuple[Site, ...], opened: OpenRegion, order: Order, promises: Promises
) -> bool:
    """Whether what is assumed on a way contradicts itself, what is assumed where its region opens, or what the program
    asserts of its captures.
    """
    said = {pair for one in assumed for pair in _facts_of(one, sites, order) if pair[0].holder not in ("", "self")}
    if promises.forbid({fact.name: holds for fact, holds in said if not fact.sign}):
        return True
    handed = {pair for one in opened.assumed for pair in _handed_on(one, sites, order)}
    named = {(replace(fact, holder=_HANDED), holds) for fact, holds in said}
    if any((fact, not holds) in said for fact, holds in said) or any((f, not holds) in named for f, holds in handed):
        return True
    opener = sites[0].function.code if sites else None
    return opener is not None and any(
        _is_too_small(fact, holds) and _is_above(fact.name, opener) for fact, holds in said
    )


def _is_too_small(fact: Fact, holds: bool) -> bool:
    """Whether nothing is like this that is one at least."""
    if not fact.sign:
        return not holds
    if not isinstance(fact.literal, (int, float)):
        return False
    bounds = {">": not holds and fact.literal < 1, "<": holds and fact.literal <= 1, "==": holds and fact.literal < 1}
    return bounds.get(fact.sign, False)


@remembered
def _is_above(name: str, opener: ir.Code) -> bool:
    """Whether all calls of a function hand on, by a name, what is one at least: `set_context(length=max(1, n))`."""
    given = [one.value for call in calls_in(opener) for one in call.arguments if one.keyword == name]
    return bool(given) and all(_is_positive(one, opener) for one in given)


def _is_positive(node: ir.Expr, code: ir.Code) -> bool:
    match node:
        case ir.Literal(value=int() | float() as value):
            return value >= 1
        case ir.Binary(operator="*" | "+", left=left, right=right):
            return _is_positive(left, code) and _is_positive(right, code)
        case ir.Call(func=ir.Name(id="max" | "min" as name), arguments=(_, _, *_) as arguments):
            positive = (_is_positive(one.value, code) for one in arguments)
            return any(positive) if name == "max" else all(positive)
        case ir.Name(id=name):
            match _assignments(code, name):
                case [ir.Assign(targets=(ir.Name(),), value=made) as one] if made is not None and stands_before(
                    one, node
                ):
                    return all(given.name != name for given in code.parameters) and _is_positive(made, code)
    return False


def handed_in(node: ir.Expr, function: Function, sites: tuple[Site, ...]) -> ir.Expr:
    """An expression, or what the calls on the way hand in for it, if it is a parameter."""
    return [given for given, _ in handed_on_way(node, function, sites)][-1]


def handed_on_way(node: ir.Expr, function: Function, sites: tuple[Site, ...]) -> Iterator[tuple[ir.Expr, Function]]:
    """An expression and the function that it stands in, and what each call on the way hands in for it."""
    asked: _Asked | None = _Asked(node, function, sites)
    while asked is not None:
        yield asked.node, asked.function
        asked = _handed_in(asked, asked.node.id) if isinstance(asked.node, ir.Name) else None


def is_handed_in(function: Function, sites: tuple[Site, ...]) -> bool:
    """Whether the object of a method comes with the call of a region, as an argument or in one: the next call may give
    another one.
    """
    callers = [site.function.code for site in sites]
    sites = sites[: callers.index(function.code)] if function.code in callers else sites  # those on the way to it
    call = sites[-1].node if sites else None
    if function.receiver is None or not isinstance(call, ir.Call):
        return False
    given, holder = list(handed_on_way(_root(call.func), sites[-1].function, sites))[-1]
    root = _root(given)
    if not isinstance(root, ir.Name):
        return False
    if root.id != holder.receiver:
        return any(one.name == root.id for one in holder.code.parameters)
    return is_handed_in(holder, sites)


def _root(node: ir.Expr) -> ir.Expr:
    """What stands in front of all dots, brackets and calls."""
    while isinstance(node, (ir.Attribute, ir.Call, ir.Subscript)):
        node = node.func if isinstance(node, ir.Call) else node.value
    return node


def _facts_of(assumption: Assumption, sites: tuple[Site, ...], order: Order) -> Iterator[tuple[Fact, bool]]:
    for test, outcome in assumption.asked if assumption.is_plain else ():
        yield from _facts(_Asked(test, assumption.function, sites), outcome, order)


def _handed_on(assumption: Assumption, sites: tuple[Site, ...], order: Order) -> Iterator[tuple[Fact, bool]]:
    """What is assumed in front of a region of local names, under those that they are handed on by."""
    for fact, holds in _facts_of(assumption, (), order):
        if not fact.holder:
            for call in calls_in(assumption.function.code):
                for argument in call.arguments:
                    is_it = isinstance(argument.value, ir.Name) and argument.value.id == fact.name
                    if is_it and argument.keyword is not None and all(call is not site.node for site in sites):
                        yield replace(fact, name=argument.keyword, holder=_HANDED), holds


def _facts(asked: _Asked, outcome: bool, order: Order, passed: tuple[ir.Expr, ...] = ()) -> Iterator[tuple[Fact, bool]]:
    """What a test says by its outcome of things that have names; `passed` are tests that led to it."""
    match asked.node:
        case ir.Unary(operator="not", operand=test):
            yield from _facts(replace(asked, node=test), not outcome, order, passed)
        case ir.Boolean(operator=operator, left=left, right=right):
            for test in (left, right) if (operator == "and") is outcome else ():
                yield from _facts(replace(asked, node=test), outcome, order, passed)
        case ir.Compare(left=left, comparisons=[(sign, ir.Literal(value=literal))]):
            origin, holds = _origin(replace(asked, node=left), order), outcome is (sign not in _POSITIVE)
            sign = _POSITIVE.get(sign, sign)
            chosen = _chosen_by(origin.node) if sign == "is" and literal is None else None
            if chosen is not None and chosen[0] not in passed:  # as one that asks what its name stood for before
                test, is_none = chosen
                yield from _facts(replace(origin, node=test), holds is is_none, order, (*passed, test))
            for named in dict.fromkeys((left, origin.node)):
                yield from ((fact, holds) for fact in _named(named, sign, literal))
        case ir.Name() | ir.Attribute():
            yield from ((fact, outcome) for fact in _named(_origin(asked, order).node))


def _named(node: ir.Expr, sign: str = "", literal: object = None) -> Iterator[Fact]:
    match node:
        case ir.Name(id=name):
            yield Fact(name, "", sign, literal)
        case ir.Attribute(attr=name, value=ir.Name(id=holder) | ir.Attribute(attr=holder)):
            yield Fact(name, holder, sign, literal)


def _chosen_by(node: ir.Expr) -> tuple[ir.Expr, bool] | None:
    """The test that decides whether a value is None, and the outcome for which it is; None if no test does."""
    if not isinstance(node, ir.Conditional):
        return None
    gives_none = [is_none(branch) for branch in (node.body, node.orelse)]
    return (node.test, gives_none[0]) if any(gives_none) and not all(gives_none) else None


def _origin(asked: _Asked, order: Order) -> _Asked:
    """Where a value comes from: what a call on the way handed in, or an attribute or a name that is given one value."""
    match asked.node:
        case ir.Name(id=name):
            handed = _handed_in(asked, name)
            if handed is not None:
                return _origin(handed, order)
            made = _made(asked.function, name)
            return asked if made is None else replace(asked, node=made)
        case ir.Attribute(value=ir.Name(id="self"), attr=name):
            given = _given(asked.function, name, order)
            return asked if given is None else _origin(given, order)
    return asked


def _handed_in(asked: _Asked, name: str) -> _Asked | None:
    """What the call on the way gives a parameter, which nothing has replaced so far."""
    code = asked.function.code
    names = [parameter.name for parameter in code.parameters]
    before = [one for one in _assignments(code, name) if stands_before(one, asked.node)]
    if name not in names or not all(excludes(code, one, asked.node) for one in before):
        return None
    callers = [site.function.code for site in asked.sites]
    index = callers.index(code) if code in callers else len(callers)
    call = asked.sites[index - 1].node if index else None
    if not isinstance(call, ir.Call) or any(argument.star for argument in call.arguments):
        return None
    is_method = names[0] in ("self", "cls")
    match call.func:
        case ir.Name(id=called) | ir.Attribute(attr=called) if called == code.name or code.name in BY_OBJECTS:
            given = dict(zip(names[is_method:], (a.value for a in call.arguments if a.keyword is None), strict=False))
            given |= {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
            if name in given:
                return _Asked(given[name], asked.sites[index - 1].function, asked.sites[: index - 1])
    return None


def _assignments(code: ir.Code, name: str) -> list[ir.Assign]:
    """The statements of a function, and of those inside it, that assign to a name."""
    return _assignments_by_name(code).get(name, [])


@remembered
def _assignments_by_name(code: ir.Code) -> dict[str, list[ir.Assign]]:
    found: dict[str, list[ir.Assign]] = {}
    for one in assignments_in(code):
        for name in dict.fromkeys(part for target in one.targets for part in _bound(target)):
            found.setdefault(name, []).append(one)
    return found


def _bound(target: ir.Expr) -> Iterator[str]:
    parts = target.elements if isinstance(target, ir.Display) else (target,)
    yield from (part.id for part in parts if isinstance(part, ir.Name))


def _made(function: Function, name: str) -> ir.Conditional | None:
    """The choice that a local name is given, in a function or in one around it: by an expression or a statement."""
    definition = function_at(function.module, function.first_line)
    code = definition.code if definition is not None else None
    if code is None:
        return None
    match _assignments(code, name):
        case [ir.Assign(value=ir.Conditional() as made)]:
            return made
        case [ir.Assign(value=ir.Literal(value=None) as nothing), ir.Assign(value=ir.Call() as made) as second]:
            for part in walk(code.body):
                if isinstance(part, ir.If) and second in part.body:
                    return ir.Conditional(part.mark, part.test, made, nothing)
    return None


def _given(function: Function, name: str, order: Order) -> _Asked | None:
    """What a property of an object returns, or the one assignment to its attribute gives it."""
    owner = function.owner or nested_class(function.module.index.classes, function.qualname.split(".")[:1])
    return _given_to(owner, name, order) if owner is not None else None


@remembered_in_run
def _given_to(owner: ClassDefinition, name: str, order: Order) -> _Asked | None:
    """What a class gives an attribute of its objects, if it is one thing."""
    bases = [base for base in order(owner) if isinstance(base, ClassDefinition)]
    for definition in (one for base in bases for one in base.methods.get(name, ())):
        match definition.code:
            case ir.Code(decorators=[ir.Name(id="property")], body=[*_, ir.Return(value=ir.Attribute() as returned)]):
                return _in(definition, returned, owner)
    methods = {definition for base in bases for found in base.methods.values() for definition in found}
    given = {
        (part.definition, part.place(store))
        for module in {base.module for base in bases}
        for part, store in stores(module, name)
        if part.definition in methods and part.is_own(store)
    }
    for definition, _ in given if len(given) == 1 else ():
        code = definition.code if definition is not None else None
        for part in walk(code.body) if code is not None else ():
            match part:
                case ir.Assign(targets=[ir.Attribute(value=ir.Name(id="self"), attr=attr)]) if attr == name:
                    return _in(definition, part.value, owner)
    return None


def _in(definition: Definition | None, node: ir.Expr | None, owner: ClassDefinition | None) -> _Asked | None:
    """An expression of a method, called by nobody in particular."""
    function = function_of(definition, owner) if definition is not None else None
    return _Asked(node, function) if function is not None and node is not None else None
