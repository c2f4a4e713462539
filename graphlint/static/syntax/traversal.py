"""A node in, everything that stands in it out."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered


@remembered
def names_in(node: Hashable) -> frozenset[str]:
    """The names that stand in a node, or in a tuple of them."""
    return frozenset(part.id for part in walk(node) if isinstance(part, ir.Name))


@remembered
def words_in(node: Hashable) -> frozenset[str]:
    """The names that stand in a node, those behind dots among them."""
    return names_in(node) | {part.attr for part in walk(node) if isinstance(part, ir.Attribute)}


@remembered
def calls_in(code: ir.Code) -> tuple[ir.Call, ...]:
    """The calls that stand in the body of a function, those of functions inside it too."""
    return tuple(part for part in walk(code.body) if isinstance(part, ir.Call))


@remembered
def assignments_in(code: ir.Code) -> tuple[ir.Assign, ...]:
    """The assignments in the body of a function, those of functions inside it too."""
    return tuple(part for part in walk(code.body) if isinstance(part, ir.Assign))


@remembered
def unset_in(code: ir.Code) -> frozenset[str]:
    """The parameters of a function that are nothing unless they are given."""
    defaults = ((one.name, one.default) for one in code.parameters)
    return frozenset(name for name, one in defaults if is_none(one))


@remembered
def branches_in(code: ir.Code) -> Mapping[ir.Expr, ir.If]:
    """The branches in a function by their tests."""
    return {part.test: part for part in walk(code.body) if isinstance(part, ir.If)}


def last_name(node: ir.Expr | None) -> str | None:
    """The name that an expression ends in: `append` of `self.parts.append`."""
    return node.attr if isinstance(node, ir.Attribute) else node.id if isinstance(node, ir.Name) else None


def called_name(node: ir.Expr) -> str | None:
    """The last name of what is called, through what calls give: `register` of `library.register("name")(f)`."""
    while isinstance(node, ir.Call):
        node = node.func
    return last_name(node)


def given_for(call: ir.Call, name: str, position: int) -> ir.Expr | None:
    """What a call gives for a parameter: by its name, or else at a position; what stars hide is not looked for."""
    given = [one for one in call.arguments if not one.star]
    named = next((one.value for one in given if one.keyword == name), None)
    plain = [one.value for one in given if one.keyword is None]
    return named if named is not None else plain[position] if 0 <= position < len(plain) else None


def stands_before(one: ir.Node, other: ir.Node) -> bool:
    """Whether a node begins before another one of the same source does."""
    return one.pos[:2] < other.pos[:2]


def targets_of(assignment: ir.Assign) -> Iterator[ir.Expr]:
    """What an assignment binds, one by one, also where tuples of them stand in each other."""
    pending = [*assignment.targets]
    while pending:
        target = pending.pop(0)
        if isinstance(target, ir.Display):
            pending[:0] = target.elements
        else:
            yield target


def assignments_to(code: ir.Code, name: str) -> tuple[ir.Assign, ...]:
    """The assignments that give a local name a value, and not a part of one."""
    return _assignments_by_name(code).get(name, ())


@remembered
def _assignments_by_name(code: ir.Code) -> Mapping[str, tuple[ir.Assign, ...]]:
    found: dict[str, dict[ir.Assign, None]] = {}
    for one in assignments_in(code):
        for target in one.targets:
            if isinstance(target, ir.Name):
                found.setdefault(target.id, {})[one] = None
    return {name: tuple(those) for name, those in found.items()}


def is_one_of(node: object, names: Set[str]) -> bool:
    """Whether a node is one of these names, and no part of something."""
    return isinstance(node, ir.Name) and node.id in names


def is_none(node: ir.Expr | None) -> bool:
    """Whether an expression is `None`, written down."""
    return isinstance(node, ir.Literal) and node.value is None


def parts_got(code: ir.Code, name: str) -> Iterator[ir.Assign]:
    """Where a name is given a part of an item that a table has as a whole or not at all, in which case it is None:
    `x, y = table.get(key, (None, None))`.
    """
    for one in assignments_in(code):
        match one:
            case ir.Assign(
                targets=[ir.Display(elements=parts)],
                value=ir.Call(
                    func=ir.Attribute(attr="get"), arguments=[_, ir.Argument(value=ir.Display(elements=left))]
                ),
            ) if all(map(is_none, left)) and any(isinstance(part, ir.Name) and part.id == name for part in parts):
                yield one


def counted_in(counted: ir.Expr) -> ir.Expr:
    """The container that `len` counts: `table` in `len(list(table.keys()))`."""
    match counted:
        case ir.Call(func=ir.Name(id="list" | "set" | "tuple"), arguments=[ir.Argument(value=inner)]):
            return counted_in(inner)
        case ir.Call(func=ir.Attribute(value=held, attr="items" | "keys" | "values"), arguments=()):
            return held
    return counted


def attribute_in(node: ir.Expr | None) -> str | None:
    """The attribute that an expression asks something for: `x.size`, or `getattr(x, "size", None)`."""
    match node:
        case ir.Attribute(attr=name):
            return name
        case ir.Call(func=ir.Name(id="getattr"), arguments=[_, ir.Argument(value=ir.Literal(value=str(name))), *_]):
            return name
    return None


def attributes_set(code: ir.Code, name: str) -> Iterator[ir.Assign]:
    """The assignments of a function to an attribute of this name, of whatever object."""
    for one in assignments_in(code):
        if any(isinstance(target, ir.Attribute) and target.attr == name for target in targets_of(one)):
            yield one


def attributes_read(code: ir.Code, name: str) -> Iterator[ir.Attribute]:
    """Where a function asks something for an attribute of this name; to assign it is no reading."""
    assigned = {id(target) for one in assignments_in(code) for target in targets_of(one)}
    for part in walk(code.body):
        if isinstance(part, ir.Attribute) and part.attr == name and id(part) not in assigned:
            yield part


def fills_attribute(code: ir.Code, name: str) -> bool:
    """Whether a function gives something an attribute of this name that is not None."""
    return any(one.value is not None and not is_none(one.value) for one in attributes_set(code, name))


def reads_attribute(code: ir.Code, name: str) -> bool:
    """Whether a function asks something for an attribute of this name."""
    return any(True for _ in attributes_read(code, name))


def blocks_in(statement: object) -> Iterator[ir.Block]:
    """The blocks that stand in a statement, those of handlers as well."""
    match statement:
        case ir.If(body=body, orelse=orelse) | ir.For(body=body, orelse=orelse) | ir.While(body=body, orelse=orelse):
            yield from (body, orelse)
        case ir.With(body=body):
            yield body
        case ir.Try(body=body, orelse=orelse, final=final, handlers=handlers):
            yield from (body, orelse, final, *(one.body for one in handlers))


def holds(block: object, node: ir.Node) -> bool:
    """Whether a node stands in a block or a statement."""
    return any(part is node for part in walk(block))


def defined_in(code: ir.Code) -> Iterator[ir.Code]:
    """The functions that stand inside of another one, and in each other there."""
    return (part.code for part in walk(code.body) if isinstance(part, ir.Define))


@remembered
def excludes(code: ir.Code, one: ir.Node, other: ir.Node) -> bool:
    """Whether two nodes of a function stand in different branches of one choice."""
    choices = (part for part in walk(code.body) if isinstance(part, ir.If) and part.orelse)
    return any(
        (holds(part.body, one) and holds(part.orelse, other)) or (holds(part.orelse, one) and holds(part.body, other))
        for part in choices
    )


@remembered
def rest_behind(code: ir.Code, node: ir.Node, outcome: bool = True) -> tuple[Hashable, ...]:
    """What runs behind a node that stands in a function, if that is a test, where it comes out like this."""
    return _rest_in(code.body, node, outcome)


def _rest_in(block: ir.Block, node: ir.Node, outcome: bool) -> tuple[Hashable, ...]:
    for at, statement in enumerate(block):
        if isinstance(statement, ir.If) and statement.test is node:
            return (statement.body if outcome else statement.orelse, *block[at + 1 :])
        if holds(statement, node):
            inner = next((one for one in blocks_in(statement) if holds(one, node)), None)
            return block[at:] if inner is None else (*_rest_in(inner, node, outcome), *block[at + 1 :])
    return ()


def surely_in(block: object, taken: Mapping[ir.Expr, bool]) -> Iterator[object]:
    """What stands in a block and runs with it: of branches, those that are taken, if that is known."""
    pending = [block]
    while pending:
        part = pending.pop()
        match part:
            case ir.If(test=test, body=body, orelse=orelse):
                outcome = taken.get(test)
                pending += [test] if outcome is None else [test, body if outcome else orelse]
            case ir.Define() | ir.DefineClass() | ir.Lambda():
                continue
            case _:
                yield part
                pending += children(part)


def walk(node: object) -> Iterator[object]:
    """A node, or a tuple of them, and everything that stands in it, in the order of the source."""
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        pending += children(part)


def children(node: object) -> Iterable[object]:
    """What stands in a node, or in a tuple of them, the last one first."""
    kind: Any = type(node)
    return reversed(node) if kind is tuple else _parts(kind)(node)  # type: ignore[call-overload]


def form(node: object) -> tuple[Hashable, ...]:
    """A node without its place: the same for all that are spelt alike."""
    kinds: Iterator[tuple[Any, object]] = ((type(part), part) for part in walk(node))
    return tuple((kind, *((type(word), word) for word in _words(kind)(part))) for kind, part in kinds)


@cache
def _parts(kind: type) -> Callable[[object], tuple[object, ...]]:
    """Gives what stands in a node of a kind, the last one first; words, and where it stands, are no part of it."""
    return _getter([name for name, holds_nodes in reversed(_fields(kind)) if holds_nodes])


@cache
def _words(kind: type) -> Callable[[object], tuple[object, ...]]:
    """Gives the names, operators and constants of a node of a kind, which may be one of them itself."""
    if not is_dataclass(kind):
        return lambda part: () if isinstance(part, tuple) else (part,)
    return _getter([name for name, holds_nodes in _fields(kind) if not holds_nodes and name != "mark"])


def _fields(kind: type) -> list[tuple[str, bool]]:
    """The fields of nodes of a kind, and whether they hold nodes."""
    of_nodes = re.compile("Expr|Block|Code|Argument|Parameter|Handler|Case")
    return [(one.name, bool(of_nodes.search(str(one.type)))) for one in fields(kind)] if is_dataclass(kind) else []


def _getter(names: list[str]) -> Callable[[object], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return (lambda node: (getattr(node, names[0]),)) if names else (lambda _: ())
