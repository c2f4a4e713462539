"""What an expression of a region stands for: host state, a plain value, a container, an object that was handed on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from graphlint.static.domain.contexts import Frame, Source
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, Instance, ModuleValue
from graphlint.static.domain.sources import Place, Read, Scope, Sources, State
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, assignments_to, stands_before, targets_of, walk, words_in
from graphlint.static.writes.stores import Named, is_of_file
from graphlint.values import NONE, UNKNOWN, Const, External, Host, Mapping, Sequence, Tensor, Unknown, Value, members
from graphlint.values import Place as Side
from graphlint.values.queries import device_tensor, is_number, tensors_in

CAPTURES = "captur"  # in the names of what a program does for captures alone, as are those of hooks


def states(evaluator: Evaluator, target: ir.Expr, frame: Frame) -> Iterator[State]:
    """The state that an expression stands for, if that was there before the region."""
    match target:
        case ir.Subscript(value=holder):
            yield from states(evaluator, holder, frame)
        case ir.Attribute(value=holder, attr=attr):
            for member in members(evaluator.eval(holder, frame)):
                if isinstance(member, Instance) and not member.in_region:
                    yield State(member.cls, attr)
                elif isinstance(member, ModuleValue):
                    yield State(member.module, attr)
        case ir.Name(id=name):
            yield from _variable(name, frame)


def changed_by(node: ir.AugAssign, value: Value, frame: Frame) -> Iterator[ir.Expr]:
    """What a statement changes that adds to something: itself, and what it is an item of, under another name.

    A number that a local name leads to by a key, `entry["next"] += 1`, is one of the table that `entry` was taken from.
    """
    if is_plain(value):
        yield node.target
    match node.target:
        case ir.Subscript(value=ir.Name(id=name), index=ir.Literal(value=str() as key)):
            code = frame.function.code
            given = [one.value for one in assignments_to(code, name)]
            if (is_number(value) or _starts_as_number(key, code)) and all(
                isinstance(one, ir.Subscript) for one in given
            ):
                yield from (one for one in given if one is not None)


def _starts_as_number(key: str, code: ir.Code) -> bool:
    """Whether a function makes a table that has a number under a key."""
    items = (item for one in walk(code.body) if isinstance(one, ir.DictDisplay) for item in one.items)
    return any(isinstance(k, ir.Literal) and k.value == key and is_written_number(value) for k, value in items)


def _variable(name: str, frame: Frame) -> Iterator[State]:
    """The variable of a module or of a function around this one that a name stands for, and no name of its own.

    A container that is changed is bound to its name in the environment, so that this does not tell.
    """
    function = frame.function
    scope, module = frame.scopes.get(name), function.module
    is_own = name in frame.sources or any(parameter.name == name for parameter in function.code.parameters)
    if scope == "nonlocal" or (scope is None and name in dict(function.closure)):
        yield State(Scope(module, function.first_line), name)
    elif scope == "global" or (not is_own and name in module.index.assignments):
        yield State(module, name)


def read_of(state: State, node: ir.Expr, value: Value, frame: Frame) -> Read:
    is_tensor = any(isinstance(member, Tensor) or member == Host("array") for member in members(value))
    is_flag = value == Host("bool") or (isinstance(value, Const) and isinstance(value.value, bool))
    is_foreign = _is_of_handed(node, frame) or (isinstance(node, ir.Attribute) and not isinstance(node.value, ir.Name))
    return Read(state, Place.of(frame, node), is_number(value) and not is_flag, is_tensor, is_foreign=is_foreign)


def key_of(index: ir.Expr, frame: Frame) -> object:
    """The key of an item: what is spelt out, or the name of a constant of the file; None if nobody knows."""
    match index:
        case ir.Literal(value=str() | int() as value):
            return value
        case ir.Name(id=name) if name not in frame.env and is_of_file(name, frame.function.module):
            return Named(name)
    return None


def items_of(sources: Sources, key: object, node: ir.Expr, frame: Frame) -> Sources:
    """What an item of state, or the question whether there is one, is read from."""
    found = set[Source]()
    for one in sources:
        if key is not None and isinstance(one, Read) and one.state.key is None:
            one = read_of(replace(one.state, key=key), node, UNKNOWN, frame)
        found.add(one)
    return frozenset(found)


def lengths_of(sources: Sources) -> Sources:
    """What is asked how many elements it has."""
    return frozenset(replace(one, is_length=True) if isinstance(one, Read) else one for one in sources)


def _is_of_handed(node: ir.Expr, frame: Frame) -> bool:
    """Whether an attribute is one of an object that the function was handed, and not of its own or a global one."""
    root: ir.Expr = node
    while isinstance(root, (ir.Attribute, ir.Subscript, ir.Call)):
        root = root.func if isinstance(root, ir.Call) else root.value
    if not isinstance(root, ir.Name) or root is node or root.id not in frame.env or frame.regions:
        return False
    if any(_variable(root.id, frame)):  # of the file, which is there under its name once it has been changed
        return False
    return root.id != frame.function.receiver


def is_handed(node: ir.Expr, frame: Frame) -> bool:
    """Whether an object that the function was handed has an attribute; not one of those that its own object holds."""
    match node:
        case ir.Attribute(value=ir.Name(id=name)) if name in _own_parts(frame.function.code, frame.function.receiver):
            return False
    return _is_of_handed(node, frame)


@remembered
def _own_parts(code: ir.Code, receiver: str | None) -> frozenset[str]:
    """The names that a function has for nothing but what attributes of its object hold, one by one: loops go there."""
    own, others = set[str](), {one.name for one in code.parameters}
    for part in walk(code.body):
        if isinstance(part, ir.For):
            targets = part.target.elements if isinstance(part.target, ir.Display) else (part.target,)
            names = {one.id for one in targets if isinstance(one, ir.Name)}
            (own if _is_held(part.iterable, receiver) else others).update(names)
        elif isinstance(part, ir.Assign):
            others.update(one.id for one in targets_of(part) if isinstance(one, ir.Name))
    return frozenset(own - others)


def _is_held(iterable: ir.Expr, receiver: str | None) -> bool:
    """Whether a loop goes through an attribute of the object: `self.layers`, also counted, or with its keys."""
    match iterable:
        case ir.Call(func=ir.Name(id="enumerate"), arguments=(argument, *_)):
            return _is_held(argument.value, receiver)
        case ir.Call(func=ir.Attribute(value=held, attr="items" | "values"), arguments=()):
            return _is_held(held, receiver)
        case ir.Attribute(value=ir.Name(id=name)):
            return name == receiver
    return False


def counts_in(node: ir.Expr | None, target: ir.Expr) -> bool:
    """Whether an item of a table is made out of what the table has: `seen[key] = seen.get(key, 0) + 1`."""
    if not isinstance(target, ir.Subscript):
        return False
    words = words_in(target.value)
    parts = (part for part in walk(node) if isinstance(part, (ir.Attribute, ir.Name))) if node is not None else ()
    return any(words_in(part) == words for part in parts)


def is_written_number(node: object) -> bool:
    return isinstance(node, ir.Literal) and isinstance(node.value, (int, float))


def asks_whether_empty(test: ir.Expr) -> bool:
    """Whether a condition asks for what is not there yet: `self.x is None`, `key not in self.table`."""
    return any(isinstance(p, ir.Compare) and p.comparisons[0][0] in ("is", "not in") for p in walk(test))


def is_container(value: Value) -> bool:
    """Whether a value can be a container of the host, and no object of the program."""
    return not any(isinstance(m, (Instance, Tensor)) for m in members(value)) and any(
        isinstance(m, (Sequence, Mapping, Unknown, Host)) for m in members(value)
    )


def is_plain(value: Value) -> bool:
    """Whether a value can be a number, a flag, or a container of these, and nothing that lies on the device."""
    return device_tensor(value) is None and any(_can_be_plain(member) for member in members(value))


def _can_be_plain(value: Value) -> bool:
    match value:
        case Tensor(place=place):
            return place is Side.HOST
        case Const() | Host() | Unknown():
            return value != NONE
        case External(name=name):
            return ":" in name  # a member of an enumeration of the program
        case Sequence(kind="sequential" | "module-list"):
            return False
        case Sequence() | Mapping():
            return all(tensor.place is Side.HOST for tensor in tensors_in(value))
    return False


def is_looked_at_again(sides: list[Sources]) -> bool:
    """Whether state is compared with what has been read of it before: it may have changed meanwhile, and not by then.

    What else is in the earlier one are the conditions that it was read under.
    """
    if len(sides) != 2:
        return False
    one, other = ({read.state for read in side if isinstance(read, Read)} for side in sides)
    is_read = [all(isinstance(source, Read) for source in side) and bool(side) for side in sides]
    return (is_read[0] and one <= other) or (is_read[1] and other <= one)


def is_count(source: Source) -> bool:
    """Whether a number is read, which is one whatever it comes to: it is never None."""
    return isinstance(source, Read) and source.is_number


def is_given_before(target: ir.Expr, node: ir.Node, function: Function) -> bool:
    """Whether a function has assigned something before a node stands in it: `self.rows = iter(x); next(self.rows)`."""
    return bool(_given_before(target, node, function))


def is_seeded(draw: ir.Call, function: Function) -> bool:
    """Whether a function draws from what it has made of a seed, which gives the same in each run."""
    made = _given_before(draw.func.value, draw, function) if isinstance(draw.func, ir.Attribute) else []
    return bool(made) and all(isinstance(one, ir.Call) and one.arguments for one in made)


def _given_before(target: ir.Expr, node: ir.Node, function: Function) -> list[ir.Expr | None]:
    """What a function has assigned to something before a node stands in it."""
    spelt = function.source(target)
    before = (one for one in assignments_in(function.code) if stands_before(one, node))
    return [one.value for one in before if any(function.source(name) == spelt for name in one.targets)]
