"""Methods of lists, dicts, sets, strings and other host values; what they change is stored back where it came from.

Long, because each kind of container has methods of its own.
"""

from __future__ import annotations

from dataclasses import replace

from graphlint.rule import Growth
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Class
from graphlint.static.models import texts
from graphlint.static.models.modules import gives_itself
from graphlint.static.models.tensors import Tensors
from graphlint.static.syntax import ir
from graphlint.values import (
    MAX_DEPTH,
    MAX_ELEMENTS,
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
    Host,
    Mapping,
    Sequence,
    Union,
    Value,
    join,
    limit_depth,
    members,
    union,
)
from graphlint.values.bounds import MAX_TEXT, is_narrow, is_small
from graphlint.values.queries import fresh_tensor, is_plain, perhaps

_STRINGS = frozenset({"split", "rsplit", "splitlines", "partition", "rpartition"})
_PURE = frozenset({
    "split", "rsplit", "partition", "rpartition", "replace", "lower", "upper", "strip", "lstrip", "rstrip",
    "startswith", "endswith", "removeprefix", "removesuffix", "title", "capitalize", "isdigit",
})  # fmt: skip
_OF_TUPLE = frozenset({*dir(tuple), "numel"})  # shapes are tuples
_OF_TEXT = frozenset(dir(str))
_OF_DICT = frozenset(dir(dict))


def lacks(value: Value, method: str) -> bool:
    """Whether a tuple or a string has no method of that name, so that this is not what it is called of.

    Lists stand for module lists and deques as well.
    """
    match value:
        case Sequence(kind="tuple"):
            return method not in _OF_TUPLE
        case Const(value=str()):
            return method not in _OF_TEXT
    return False


def entry(value: Value, name: str) -> Value | None:
    """The item that a mapping gives as an attribute as well, such as a `ModuleDict` does; None if it has none."""
    return dict(value.items).get(Const(name)) if isinstance(value, Mapping) and name not in _OF_DICT else None


class Containers:
    """What the methods of host values return and change."""

    def __init__(self, evaluator: Evaluator, tensors: Tensors) -> None:
        self.evaluator = evaluator
        self.tensors = tensors

    def call_method(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method of a container, a string or another host value."""
        for member in members(receiver):
            if gives_itself(self.evaluator, name) and isinstance(member, (Sequence, Mapping)):
                return member
            if isinstance(member, Sequence):
                return self._sequence(member, name, arguments, node, frame)
            if isinstance(member, Mapping):
                return self._mapping(member, name, arguments, node, frame)
        if isinstance(receiver, Host) and receiver.kind == "array":
            return Host("array")
        if isinstance(receiver, DeviceName):  # as text, that is
            return self._host(Host("str"), name, arguments, node, frame)
        if isinstance(receiver, (Const, Host)):
            return self._host(receiver, name, arguments, node, frame)
        return UNKNOWN

    def _host(self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        text = (isinstance(receiver, Const) and isinstance(receiver.value, str)) or receiver == Host("str")
        if name == "format" and text:
            for value in arguments.all_values():
                if node is not None:
                    self.tensors.check_printed(node, value, frame)
            if isinstance(receiver, Const) and not is_narrow(str(receiver.value)):
                return Host("str")
            if not arguments.keywords and arguments.star is None:
                return texts.combined(str.format, (receiver, *arguments.positional))
        if isinstance(receiver, Const) and isinstance(receiver.value, str) and name in _PURE:
            given = [v.value for v in arguments.positional if isinstance(v, Const)]
            if len(given) == len(arguments.positional) and not arguments.keywords and arguments.star is None:
                return self._folded(receiver.value, name, given)
        if name in _STRINGS:
            return Sequence("list", None, Host("str"))
        if name in ("startswith", "endswith", "isdigit", "isidentifier", "isinstance"):
            return Host("bool")
        if name in ("find", "index", "count", "bit_length"):
            return Host("int")
        return Host("str") if text else Host("object")

    @staticmethod
    def _folded(text: str, name: str, given: list[object]) -> Value:
        if any(not is_small("+", text, one) for one in given):
            return Host("str")
        try:
            result = getattr(text, name)(*given)
        except (TypeError, ValueError, OverflowError):
            return UNKNOWN
        if isinstance(result, (list, tuple)):
            return Sequence(type(result).__name__, tuple(Const(part) for part in result))
        is_long = isinstance(result, str) and len(result) > MAX_TEXT
        return Host("str") if is_long else Const(result)

    def _sequence(
        self, receiver: Sequence, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        values = arguments.positional
        if self.evaluator.lexicon.methods.get(name) == "registers" and len(values) == 2:
            name, values = "append", values[1:]
        if name in ("append", "add", "appendleft") and values:
            self._grow(node, frame, values[0])
            is_short = receiver.elements is not None and len(receiver.elements) < MAX_ELEMENTS
            elements = (*receiver.first, limit_depth(values[0], MAX_DEPTH - 1)) if is_short else None
            return self._replace(Sequence(receiver.kind, elements, self._with(receiver, values[0])), node, frame)
        if name in ("extend", "update") and values:
            added = values[0]
            self._grow(node, frame, added)
            both = len(receiver.first) + len(added.first) if isinstance(added, Sequence) else 0
            if isinstance(added, Sequence) and None not in (added.elements, receiver.elements) and both <= MAX_ELEMENTS:
                return self._replace(Sequence(receiver.kind, receiver.first + added.first), node, frame)
            element = self._with(receiver, self.evaluator.element(added))
            return self._replace(Sequence(receiver.kind, None, element), node, frame)
        if name == "insert" and len(values) == 2:
            self._grow(node, frame, values[1])
            return self._replace(Sequence(receiver.kind, None, self._with(receiver, values[1])), node, frame)
        if name in ("pop", "popleft", "popitem"):
            element = receiver.any_element
            self._replace(Sequence(receiver.kind, None, element), node, frame)
            return element
        if name in ("copy", "__iter__", "union", "intersection", "difference"):
            return receiver
        if name == "clear":
            return self._replace(Sequence(receiver.kind, ()), node, frame)
        if name == "index" and values and receiver.elements is not None and values[0] in receiver.elements:
            return Const(receiver.elements.index(values[0]))
        if name in ("index", "count", "numel", "__len__"):
            return Host("int")
        if name == "__getitem__" and values:
            return item(receiver, values[0])
        return NONE

    def _mapping(self, receiver: Mapping, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        if name in ("get", "pop", "setdefault", "__getitem__") and values:
            default = list(values[1:2]) or ([NONE] if name == "get" else [])
            if node is not None and isinstance(node.func, ir.Attribute):
                receiver = as_found(self.evaluator, receiver, node.func.value, frame)
            found = item(receiver, values[0], missing=default)
            if name == "setdefault" and len(values) == 2:
                self._grow(node, frame, values[1])
                self._replace(with_item(receiver, values[0], found), node, frame)
            if name == "pop":
                items = tuple(item for item in receiver.items if item[0] != values[0])
                self._replace(Mapping(items, receiver.other, receiver.optional - {values[0]}), node, frame)
            return found
        if name in ("keys", "__iter__"):
            keys = tuple(key for key, _ in receiver.items)
            return Sequence("iterator", keys if receiver.other is None else None, UNKNOWN)
        if name == "values":
            held = tuple(value for _, value in receiver.items)
            return Sequence("iterator", held if receiver.other is None else None, receiver.any_value)
        if name == "items":
            pairs = tuple(Sequence("tuple", item) for item in receiver.items)
            unknown = Sequence("tuple", (UNKNOWN, receiver.any_value))
            return Sequence("iterator", pairs if receiver.other is None else None, unknown)
        if name == "update":
            return self._update(receiver, arguments, node, frame)
        if (name == "__setitem__" or self.evaluator.lexicon.methods.get(name) == "registers") and len(values) == 2:
            return self._replace(with_item(receiver, values[0], values[1]), node, frame)
        if name == "copy":
            return receiver
        return NONE

    def _update(self, receiver: Mapping, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        for value in (*arguments.positional, by_name(arguments)):
            receiver = updated(receiver, value if isinstance(value, Mapping) else Mapping((), UNKNOWN))
        return self._replace(receiver, node, frame)

    @staticmethod
    def _with(receiver: Sequence, added: Value) -> Value:
        if receiver.elements == ():
            return added
        return union((receiver.any_element, added))

    def _replace(self, changed: Value, node: ir.Call | None, frame: Frame) -> Value:
        """Store the changed container where the old one was read from."""
        if node is not None and isinstance(node.func, ir.Attribute):
            self.evaluator.put_back(node.func.value, changed, frame)
        return NONE

    def _grow(self, node: ir.Call | None, frame: Frame, added: Value) -> None:
        """A tensor of the region appended to something that outlives it is appended once, at capture."""
        if node is None or not frame.in_region or not isinstance(node.func, ir.Attribute):
            return
        if self.evaluator.is_hook(frame):
            return
        holder = node.func.value
        while isinstance(holder, ir.Subscript):  # a list in a table
            holder = holder.value
        if fresh_tensor(added) is not None and self.evaluator.outlives_region(holder, frame):
            self.evaluator.observe(frame, node, Growth(added))


def as_found(evaluator: Evaluator, mapping: Mapping, holder: ir.Expr, frame: Frame) -> Mapping:
    """A mapping as a region finds it: what outlives the region has been filled before, by the runs that warm it up."""
    is_filled = bool(mapping.optional) and frame.in_region and evaluator.outlives_region(holder, frame)
    return replace(mapping, optional=frozenset()) if is_filled else mapping


def with_item(mapping: Mapping, key: Value, value: Value) -> Mapping:
    """The mapping after `mapping[key] = value`."""
    items = dict(mapping.items)
    other = put(items, mapping.other, key, value)
    optional = mapping.optional - {key}
    if isinstance(key, Union):  # which of these keys it was, nobody knows
        optional |= items.keys() - dict(mapping.items).keys()
    return Mapping(tuple(items.items()), other, optional)


def updated(mapping: Mapping, given: Mapping) -> Mapping:
    """The mapping after `mapping.update(given)`."""
    before = dict(mapping.items)
    items = dict(before)
    for key, value in given.items:
        items[key] = join(before[key], value) if key in given.optional and key in before else value
    certain = dict(given.items).keys() - given.optional
    optional = mapping.optional.union(given.optional.difference(before)).difference(certain)
    others = [one.other for one in (mapping, given) if one.other is not None]
    return Mapping(tuple(items.items()), union(others) if others else None, optional)


def by_name(arguments: Arguments) -> Mapping:
    """What a function is handed by name, as the dict that it gets of it."""
    items = tuple((Const(name), value) for name, value in arguments.keywords)
    optional = frozenset(Const(name) for name, _ in arguments.keywords if name in arguments.optional)
    return Mapping(items, arguments.double_star, optional)


def put(items: dict[Value, Value], other: Value | None, key: Value, value: Value) -> Value | None:
    """Store a value under a key; what keys that are not known hold afterwards."""
    if isinstance(key, (Const, External)):
        items[key] = value
    elif isinstance(key, Union) and all(isinstance(member, Const) for member in key.members):  # any one of these
        put_one = join if all(is_plain(items.get(one, value)) for one in key.members) else perhaps
        items |= {one: put_one(items.get(one, value), value) for one in key.members}
    else:
        return value if other is None else union((other, value))
    return other


def item(value: Value, index: Value, missing: list[Value] | None = None) -> Value:
    """`value[index]` of a container; `missing` is what a mapping gives for a key that it may not have."""
    if isinstance(value, Sequence):
        if isinstance(index, Const) and isinstance(index.value, int):
            if value.elements is not None:
                inside = -len(value.elements) <= index.value < len(value.elements)
                return value.elements[index.value] if inside else UNKNOWN
            if 0 <= index.value < len(value.prefix):
                return value.prefix[index.value]
        if index == Host("slice"):
            return Sequence(value.kind, None, value.any_element)
        return value.any_element
    if isinstance(value, Mapping):
        return _mapped(value, index, missing or [])
    if value == Host("str") or (isinstance(value, Const) and isinstance(value.value, str)):
        return Host("str")
    if isinstance(value, Host):
        return Host("array") if value.kind == "array" else Host("object")
    return UNKNOWN


def _mapped(value: Mapping, index: Value, missing: list[Value]) -> Value:
    keys = list(members(index))
    held = dict(value.items)
    found = [held[key] for key in keys if key in held]
    if len(found) < len(keys):
        # Of what is only promised to be a table, nobody knows which keys it has.
        found += missing if value.other is None else [value.other, *(() if value.items else missing)]
    elif not value.optional.isdisjoint(keys):
        found += missing
    if not all(isinstance(key, (Const, External, Class)) for key in keys):
        found.append(value.any_value)
    return union(found) if found else UNKNOWN
