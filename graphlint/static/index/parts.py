"""A module and a name in, the functions and statements that may use it out, with what they assign, change and call.

Asked of syntax trees, so that spaces, line breaks and comments make no difference. The text only tells where the name
is not used in that way, which saves parsing what stands there: a search finds too much now and then, never too little.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.static.index.looked import Fits, anywhere
from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.trees import UNPARSABLE, nodes_in, statements

_ASSIGNED = re.compile(
    r"[\s\\)\]]*(?:=(?!=)|[-+*/%@&|^]=|(?:\*\*|//|<<|>>)=|in\b|\#|:[ \t]*[^\s\#]"  # `x: int = 1`, not `if x:`
    r"|,[^=\n]*=(?!=)|,\s*\n|,[^\n]*(?:\#|[(\[,\\]\s*\n|\n\s*[,)\]=]))"  # a tuple, which may go over several lines
)
_STORING = frozenset({"add", "append", "setdefault", "update"})  # methods of containers that keep what they are given
_FILLED = re.compile(rf"[\s\\)\]]*(?:[\[\#]|\.\s*(?:{'|'.join(sorted(_STORING))})\b)")
_CALLED = re.compile(r"[\s\\)]*\(")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|\d+")  # of a name or a path, whichever way these are written
_FAR = 200  # characters between a dot and the name behind it
_READING = (".get(", ".pop(", "getattr(", "hasattr(", "delattr(")
_ASKS_FOR_GRADIENT = "requires_grad_"  # the only method with such a name that leaves the values as they are


@dataclass(frozen=True, slots=True)
class Writes:
    """What a piece of code assigns to, changes in place and stores items in, and what it declares `global`.

    What holds a container that is stored into is `filled`, and the container `changed`.

    `remade` are attributes that it deletes, or gives what a call makes of them. `receiver` is the first parameter, if
    it is a function; nodes count lines from `first`.
    """

    assigned: tuple[ast.expr, ...] = ()
    changed: tuple[ast.expr, ...] = ()
    filled: tuple[ast.expr, ...] = ()
    shared: frozenset[str] = frozenset()
    called: tuple[ast.Attribute, ...] = ()  # methods
    remade: frozenset[str] = frozenset()
    receiver: str | None = None
    first: int = 1


@dataclass(frozen=True, slots=True)
class Part:
    """A function of a module or of a class, or a statement at the top level."""

    definition: Definition | None
    segment: Segment
    writes: Writes

    def place(self, node: ast.expr) -> tuple[int, int]:
        """Where a node stands: functions stand in statements, too, and what they do is counted once."""
        return self.segment.first + node.lineno - self.writes.first, node.col_offset

    def is_own(self, attribute: ast.Attribute) -> bool:
        """Whether an attribute is one of the object that a method is called on."""
        return isinstance(attribute.value, ast.Name) and attribute.value.id == self.writes.receiver


def filled(text: str, at: int, end: int) -> bool:
    """Whether an item of a name may be assigned, or something may be added to it."""
    return _FILLED.match(text, end) is not None


def called(text: str, at: int, end: int) -> bool:
    """Whether a name may be called, and does not begin a definition or end a longer name."""
    return (
        _CALLED.match(text, end) is not None
        and not (text[at - 1 : at].isalnum() or text[at - 1 : at] == "_")
        and not text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith(("class ", "def "))
    )


def _is_assigned(text: str, at: int, end: int) -> bool:
    """Whether an attribute of a name may be assigned, by a sign behind it or by the `as` of a `with` before it."""
    is_attribute = text[at - 1] == "." or text[max(at - _FAR, 0) : at].rstrip(" \t\n\\").endswith(".")
    return is_attribute and (_ASSIGNED.match(text, end) is not None or " as" in text[text.rfind("\n", 0, at) + 1 : at])


def segments_with(module: Module, name: str, fits: Fits = anywhere) -> Iterator[tuple[Definition | None, Segment]]:
    """The functions and statements of a module in which a name may stand, as far as the text around it tells."""
    lines = list(module.lines_with(name, fits))
    if not lines:
        return
    for definition in module.index.all_functions():
        if _holds(definition.segment, lines):
            yield definition, definition.segment
    for segment in module.index.statements:
        if _holds(segment, lines):
            yield None, segment


@remembered
def function_at(module: Module, first_line: int) -> Definition | None:
    """The function of a module or class that begins on a line."""
    return next((one for one in module.index.all_functions() if one.segment.first == first_line), None)


def parts_with(module: Module, name: str, fits: Fits = anywhere) -> Iterator[Part]:
    """The parts of a module in which a name may stand, with what they write."""
    for definition, segment in segments_with(module, name, fits):
        yield Part(definition, segment, writes_in(module.source_of(segment)))


def is_word(text: str, at: int, end: int) -> bool:
    """Whether a name is a word of its own."""
    return not (_goes_on(text[at - 1 : at]) or _goes_on(text[end : end + 1]))


def _goes_on(character: str) -> bool:
    return character.isalnum() or character == "_"


@remembered_in_run
def stores(module: Module, name: str) -> tuple[tuple[Part, ast.Attribute], ...]:
    """The assignments to attributes of a name, each with the part that it stands in."""
    return tuple(
        (part, target)
        for part in parts_with(module, name, _is_assigned)
        for target in part.writes.assigned
        if isinstance(target, ast.Attribute) and target.attr == name
    )


@remembered_in_run
def is_set_by_name(module: Module, owner: str, name: str) -> bool:
    """Whether a function assigns an attribute of a class of its file: `Switches.fast = value`."""
    targets = (target.value for part, target in stores(module, name) if part.definition is not None)
    return any(isinstance(one, ast.Name) and one.id == owner for one in targets)


@remembered_in_run
def setters(module: Module, name: str) -> frozenset[Definition | None]:
    """The methods that assign an attribute of their object, themselves or by a call that is given its name."""
    own = {part.definition for part, store in stores(module, name) if part.is_own(store)}
    return frozenset(own.union(definition for definition, _ in segments_with(module, name, _is_handed_by_name)))


def _is_handed_by_name(text: str, at: int, end: int) -> bool:
    """Whether a string may name an attribute that a call sets: `setattr(self, "size", 4)`, `put("size", 4)`."""
    call = text[max(at - _FAR, 0) : at - 1].rstrip(" \t\n\\").removesuffix("self,").rstrip(" \t\n\\")
    is_whole = text[at - 1 : at] == text[end : end + 1] and text[end : end + 1] in ("'", '"')
    return is_whole and text[end + 1 : end + 2] == "," and call.endswith("(") and not call.endswith(_READING)


@remembered_in_run
def rebound_in(module: Module) -> frozenset[str]:
    """The names that functions of a module declare `global`: their values at the top level do not last."""
    return frozenset().union(*(part.writes.shared for part in rebinding(module)))


def is_filled_later(module: Module, name: str) -> bool:
    """Whether a function puts something under a key of a dict that is empty at first: a cache."""
    return any(
        part.definition is not None and any(spelling(target) == name for target in part.writes.filled)
        for part in parts_with(module, name, filled)
    )


def filling(module: Module, attribute: str) -> Iterator[Part]:
    """The parts of a module that put something into what an attribute of that name holds."""
    for part in parts_with(module, attribute, filled):
        if any(spelling(target).endswith(f".{attribute}") for target in part.writes.filled):
            yield part


def rebinding(module: Module) -> Iterator[Part]:
    """The functions of a module that declare names `global`."""
    return parts_with(module, "global", _begins_statement)


def _begins_statement(text: str, at: int, end: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].rstrip(" \t")[-1:] in ("", ";", ":")


@remembered
def writes_in(source: str) -> Writes:
    """What a segment writes, and what is defined inside of it."""
    try:
        found, first = statements(source)
    except UNPARSABLE:
        return Writes()
    assigned: list[ast.expr] = []
    changed: list[ast.expr] = []
    called: list[ast.Attribute] = []
    shared: set[str] = set()
    remade: set[str] = set()
    declared: set[ast.expr] = set()
    for node in (node for statement in found for node in nodes_in(statement)):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                assigned.append(node)
            case ast.AugAssign(target=target):
                changed.append(target)
            case ast.AnnAssign(target=target, value=None):
                declared.add(target)
            case ast.Call(func=ast.Attribute() as method):
                called.append(method)
            case ast.Global(names=names):
                shared.update(names)
            case ast.Delete(targets=targets):
                remade.update(target.attr for target in targets if isinstance(target, ast.Attribute))
            case ast.Assign(targets=[ast.Attribute(attr=name)], value=ast.Call() as made) if _has(made, name):
                remade.add(name)
    assigned = [target for target in assigned if target not in declared]
    stored = [target.value for target in assigned if isinstance(target, ast.Subscript)]
    changed += (*stored, *(method.value for method in called if _works_in_place(method.attr)))
    stored += [method.value for method in called if method.attr in _STORING]
    rest = tuple(map(_holder, stored)), frozenset(shared), tuple(called), frozenset(remade)
    return Writes(tuple(assigned), tuple(changed), *rest, _receiver(found[0]), first)


def _holder(node: ast.expr) -> ast.expr:
    """What holds a container of containers: `held` for `held[kind]` and `held.setdefault(kind, [])`."""
    while True:
        match node:
            case ast.Subscript(value=held) | ast.Call(func=ast.Attribute(value=held, attr="get" | "setdefault")):
                node = held
            case _:
                return node


def _has(node: ast.AST, attribute: str) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == attribute for part in nodes_in(node))


def spelling(node: ast.expr) -> str:
    """The spelling of a variable or an attribute; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
    return ""


def _receiver(node: ast.stmt) -> str | None:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        arguments = [*node.args.posonlyargs, *node.args.args]
        return arguments[0].arg if arguments else None
    return None


def _works_in_place(method: str) -> bool:
    return method.endswith("_") and not method.endswith("__") and method != _ASKS_FOR_GRADIENT


def _holds(segment: Segment, lines: list[int]) -> bool:
    at = bisect_left(lines, segment.first)
    return at < len(lines) and lines[at] <= segment.last
