"""What source looks like: what an index takes, which methods a function calls, what a branch keeps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from graphlint.static.life.objects import Place
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, calls_in, is_one_of, walk, words_in

_NUMBERS = frozenset({"bool", "float", "int"})
_NOTHING = frozenset({"None", "Optional", "typing"})


def calls_method(code: ir.Code, names: Collection[str]) -> bool:
    """Whether a function calls a method of one of these names on one of its ways."""
    return any(isinstance(call.func, ir.Attribute) and call.func.attr in names for call in calls_in(code))


def is_sliced(index: ir.Expr) -> bool:
    """Whether an index holds a slice or an ellipsis, as only those of tensors, arrays and lists do."""
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return any(isinstance(part, ir.Slice) or (isinstance(part, ir.Literal) and part.value is ...) for part in parts)


def slices(index: ir.Expr) -> list[ir.Slice]:
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return [part for part in parts if isinstance(part, ir.Slice)]


def takes_all(index: ir.Expr) -> bool:
    """Whether an index takes everything: `[:]`, `[...]`, `[None]`."""
    parts = index.elements if isinstance(index, ir.Display) else (index,)
    return all(
        (isinstance(part, ir.Slice) and all(bound is None for bound in part.bounds))
        or (isinstance(part, ir.Literal) and (part.value is ... or part.value is None))
        for part in parts
    )


def is_number(parameter: ir.Parameter) -> bool:
    """Whether an annotation, or the default, says that a parameter is a number or a flag."""
    annotation, default = parameter.annotation, parameter.default
    words = words_in(annotation) - _NOTHING if annotation is not None else frozenset[str]()
    is_default = isinstance(default, ir.Literal) and isinstance(default.value, (bool, int, float))
    return is_default or (bool(words) and words <= _NUMBERS)


def keeps_number(node: ir.Node, code: ir.Code) -> str | None:
    """The parameter that a statement keeps as it was given, if that is a number."""
    value = node.value if isinstance(node, ir.Assign) else None
    given = (
        one.name for one in code.parameters if isinstance(value, ir.Name) and one.name == value.id and is_number(one)
    )
    return next(given, None)


def taken_by(statement: Place | None, test: ir.Node, outcome: bool) -> ir.Block:
    """The side of an `if` that runs once its test has come out; nothing where a statement is none with this test."""
    node = statement.node if statement is not None else None
    if not isinstance(node, ir.If) or node.test is not test:
        return ()
    return node.body if outcome else node.orelse


def kept_by(block: ir.Block) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The attributes and items that a block gives new values to, and those values."""
    for one in block:
        if isinstance(one, ir.Assign) and one.value is not None:
            for target in one.targets:
                if isinstance(target, (ir.Attribute, ir.Subscript)):
                    yield target, one.value


def asks_for(code: ir.Code, words: Iterable[str]) -> bool:
    """Whether a function compares, tests or looks something up by one of these names, or by what it makes of them."""
    return not _asked(code).isdisjoint(words)


@remembered
def _asked(code: ir.Code) -> frozenset[str]:
    """The words in what a function compares, tests or looks something up by."""
    asked = list[ir.Node]()
    for part in walk(code.body):
        match part:
            case ir.Compare():
                asked.append(part)
            case ir.If(test=test):
                asked.append(test)
            case ir.Subscript(index=index):
                asked.append(index)
            case ir.Call(func=ir.Attribute(attr="get"), arguments=arguments):
                asked += [one.value for one in arguments]
    words = frozenset[str]().union(*map(words_in, asked))
    keys = (one.value for one in assignments_in(code) if any(is_one_of(target, words) for target in one.targets))
    return words.union(*(words_in(key) for key in keys if key is not None))
