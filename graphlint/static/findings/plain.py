"""A key of a table in, whether it is the same in each run of what a graph is captured of out: words, devices, sizes.

A graph is one of the sizes, the types and the numbers that it was captured with, and so is the run before it. What
counts is another one in each run, though it is a number as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.static.domain.contexts import Site
from graphlint.static.domain.program import Function
from graphlint.static.findings.origins import handed_on_way
from graphlint.static.index.module import Module
from graphlint.static.index.parts import rebound_in
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import assignments_in, children, last_name, targets_of, walk, words_in
from graphlint.static.writes.stores import stores_to

MADE_OF = ("device", "dtype")
_ASKED = (*MADE_OF, "ndim", "shape")  # what tensors are asked for that no value of theirs changes
_OF_DEVICE = ("index", "type")
_ANNOTATED = (*MADE_OF, "Size", "bool", "float", "int", "str")
_AROUND = ("List", "Optional", "Sequence", "Tuple", "Union", "list", "tuple")  # of these in annotations
_BUILTINS = ("bool", "float", "int", "list", "max", "min", "repr", "str", "sum", "tuple", "type")
CONSTRUCTORS = ("__init__", "__new__", "__post_init__")
_MADE = (
    ir.Attribute, ir.Binary, ir.Boolean, ir.Compare, ir.Comprehension, ir.Conditional, ir.Display, ir.Formatted,
    ir.Slice, ir.Starred, ir.Subscript, ir.Unary,
)  # fmt: skip
_DEPTH = 3  # of names for names


def is_plain(key: ir.Node, function: Function, sites: tuple[Site, ...], depth: int = _DEPTH) -> bool:
    """Whether a key comes from nothing but words, numbers, and what tensors and the object of a method have for good.

    Other parameters are asked for at the calls on the way.
    """
    match key:
        case ir.Literal():
            return True
        case ir.Attribute(value=ir.Name(id=owner), attr=name) if owner == function.receiver:
            return not _counts(function.module, name)
        case ir.Attribute(attr=name) if name in _ASKED:
            return True
        case ir.Attribute(value=held, attr=name) if name in _OF_DEVICE and last_name(held) == "device":
            return True
        case ir.Call(func=ir.Name(id="len")) | ir.Call(func=ir.Attribute(attr="dim" | "numel" | "size")):
            return True
        case ir.Call(func=ir.Attribute(attr="current_device" | "data_ptr"), arguments=()):
            return True  # a graph reads the tensors that the run before it was given, on that device
        case ir.Call(func=ir.Attribute(attr=name) | ir.Name(id=name), arguments=()) if name.startswith("is_"):
            return True  # yes or no
        case ir.Name(id=name):
            return _is_named(key, name, function, sites, depth)
        case ir.Call(func=ir.Name(id=name), arguments=arguments) if name in _BUILTINS or _is_own(name, function):
            return bool(arguments) and all(is_plain(part, function, sites, depth) for part in _parts(arguments))
    return isinstance(key, _MADE) and all(is_plain(part, function, sites, depth) for part in _parts(key))


def _is_named(key: ir.Name, name: str, function: Function, sites: tuple[Site, ...], depth: int) -> bool:
    given = next((one for one in function.code.parameters if one.name == name), None)
    made = [one.value for one in assignments_in(function.code) if name in map(last_name, targets_of(one))]
    if given is not None and not made:
        if given.annotation is not None and _is_plain_kind(given.annotation):
            return True
        handed = list(handed_on_way(key, function, sites))
        return len(handed) > 1 and depth > 0 and is_plain(*handed[-1], sites, depth - 1)
    if not made:
        module, iterables = function.module, list(_iterables_of(function.code, name))
        if iterables:
            return depth > 0 and all(is_plain(one, function, sites, depth - 1) for one in iterables)
        return name in module.index.assignments and name not in rebound_in(module)
    return depth > 0 and all(one is not None and is_plain(one, function, sites, depth - 1) for one in made)


def _iterables_of(code: ir.Code, name: str) -> Iterator[ir.Expr]:
    """What comprehensions of a function go through for the sake of a name: `int(x) for x in sizes`."""
    for part in walk(code.body):
        for target, iterable, _ in part.clauses if isinstance(part, ir.Comprehension) else ():
            if isinstance(target, ir.Name) and target.id == name:
                yield iterable


def _is_own(name: str, function: Function) -> bool:
    """Whether a function of the same module makes something of what it is given, and of nothing that goes on."""
    module = function.module
    codes = [one.code for one in module.index.functions.get(name, ()) if one.code is not None]
    kept = rebound_in(module) | {"next"}
    return bool(codes) and all(
        kept.isdisjoint(words_in(one.body)) and not any(isinstance(part, ir.AugAssign) for part in walk(one.body))
        for one in codes
    )


def _is_plain_kind(annotation: ir.Expr) -> bool:
    """Whether an annotation is one of words, numbers, devices and types, or of several of them: `int | None`."""
    named = [part for part in walk(annotation) if isinstance(part, (ir.Name, ir.Attribute))]
    inner = {id(part.value) for part in named if isinstance(part, ir.Attribute)}
    names = {last_name(part) for part in named if id(part) not in inner}
    return not names.isdisjoint(_ANNOTATED) and names.issubset((*_ANNOTATED, *_AROUND))


def _parts(node: object) -> Iterator[ir.Node]:
    """What an expression is made of, one by one."""
    for part in children(node):
        if isinstance(part, (tuple, ir.Argument)):
            yield from _parts(part)
        elif isinstance(part, ir.Node):
            yield part


@remembered_in_run
def _counts(module: Module, name: str) -> bool:
    """Whether a method goes on with an attribute: `self.calls += 1`."""
    return any(
        written.store.depends_on_itself
        for written in stores_to(module, name, True)
        if written.definition is not None and written.definition.name not in CONSTRUCTORS
    )
