"""What is known of a value: immutable, hashable, joined where paths meet. Both halves speak of values in these kinds.

A value that could be several things is a `Union`; its member `UNKNOWN` says that it could be something else as well.
Long, because containers join their elements: the kinds of values and the ways to join them need each other.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

from graphlint.finding import Confidence


class Value:
    """Anything that is known of a value; the kinds follow. The static half adds those that a program defines."""

    __slots__ = ()
    size = 1  # how many values are in it, itself included
    height = 0  # how deep containers are in it of which more is known than their kind
    is_true: ClassVar[bool] = False  # whether everything of this kind is true
    is_example: ClassVar[bool] = False  # whether it is one of many that a registry may hold


MAX_MEMBERS = 24  # registries hold dozens of functions; beyond that a value is as good as unknown
MAX_EXAMPLES = 6  # classes of something that can be another class as well; more are a registry's, and tell nothing
MAX_ELEMENTS = 1024  # registries by name are long
MAX_DEPTH = 5
MAX_SIZE = 3000  # values in a value; a short program puts a list into itself, twice, sixty times
_LARGE = 48  # values in those whose union is kept: what containers share is joined once, not wherever it is in them


class Composite(Value):
    """A value that holds others: how many and how deep is worked out once, since it is asked for again and again."""

    __slots__ = ("_hash", "height", "size")

    size: int
    height: int
    _hash: int | None

    def _settle(self, parts: Collection[Value], nests: bool = True) -> None:
        """Note the parts of a value that is being made."""
        self.height = max([part.height for part in parts], default=0) + nests
        self.size, self._hash = 1 + sum([part.size for part in parts]), None

    def _remember(self, *fields: object) -> int:
        """The hash of these."""
        if self._hash is None:
            self._hash = hash(fields)
        return self._hash


class Place(enum.Enum):
    """Where a tensor's data lies."""

    DEVICE = "device"
    HOST = "host"
    ANYWHERE = "anywhere"


@dataclass(frozen=True, slots=True)
class Unknown(Value):
    """Nothing is known."""


UNKNOWN = Unknown()


@dataclass(slots=True, unsafe_hash=True)  # never changed all the same: what is frozen takes three times as long to make
class Const(Value):
    """A Python constant; `kind` keeps 1, 1.0 and True apart."""

    value: object
    kind: type = field(init=False)

    def __post_init__(self) -> None:
        self.kind = type(self.value)


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


@dataclass(slots=True, unsafe_hash=True)
class Host(Value):
    """A host value that is no tensor; `kind` is int, float, bool, str, array, dtype or object."""

    kind: str


@dataclass(slots=True, unsafe_hash=True)
class DeviceName(Value):
    """A `torch.device`: the device, the host, or unknown."""

    place: Place


@dataclass(slots=True, unsafe_hash=True)
class Tensor(Value):
    """A tensor.

    `dtype` is torch's name without its prefix, or just int or float; `sure` says how sure its place is.
    `fresh` was allocated in the region, `view_of_fresh` included; `literal` was built from values in the source.
    Of a known number of dimensions, `ones` are those that are one long, as a step of decoding has one token.
    """

    place: Place = Place.ANYWHERE
    ndim: int | None = None
    dtype: str | None = None
    sure: Confidence = Confidence.MEDIUM
    pinned: bool = False
    fresh: bool = False
    literal: bool = False
    ones: tuple[int, ...] = ()

    @property
    def is_mask(self) -> bool:
        return self.dtype in ("bool", "uint8")


@dataclass(slots=True, unsafe_hash=True)
class External(Value):
    """Something outside the project, by its qualified name: a module, function, class or constant."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class ExternalObject(Value):
    """An instance of an external class, with the arguments that made it, by parameter name or position.

    Where it `is_open`, there may have been more of them. Of an optimizer, `made` is the line that makes it.
    """

    cls: str
    arguments: tuple[tuple[str | int, Value], ...] = ()
    is_open: bool = False
    made: tuple[str, int] | None = None

    def argument(self, name: str, position: int | None = None) -> Value | None:
        found = (value for key, value in self.arguments if key == name or (position is not None and key == position))
        return next(found, None)


@dataclass(slots=True)
class Sequence(Composite):
    """A list, tuple, set, iterator, module-list or sequential.

    `elements` is None when the length is not known: `element` stands for every element then, the first ones, which
    `prefix` knows better, among them. Of one that holds too much, only the kinds of its elements are known. Where it
    `is_alike`, all of them are equal.
    """

    kind: str
    elements: tuple[Value, ...] | None
    element: Value = UNKNOWN
    prefix: tuple[Value, ...] = ()
    is_alike: bool = False

    def __post_init__(self) -> None:
        self._settle((*self.first, self.element), bool(self.first) or self.elements == () or self.element != UNKNOWN)
        if self.size > MAX_SIZE:
            held = (*self.first, *([self.element] if self.elements is None else []))
            element = union(limit_depth(value, 0) for value in held)
            self._settle((element,))
            self.elements, self.element, self.prefix = None, element, ()

    def __hash__(self) -> int:
        return self._remember(self.kind, self.elements, self.element, self.prefix)

    @property
    def first(self) -> tuple[Value, ...]:
        """The elements whose position is known."""
        return self.prefix if self.elements is None else self.elements

    @property
    def any_element(self) -> Value:
        """Something that stands for every element."""
        if self.elements is None:
            return self.element
        return union(self.elements)


@dataclass(slots=True)
class Mapping(Composite):
    """A dict: known keys, some of them `optional`, and what any other key may hold (None: there are no others)."""

    items: tuple[tuple[Value, Value], ...] = ()
    other: Value | None = None
    optional: frozenset[Value] = frozenset()
    _any_value: Value | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        held = [value for _, value in self.items] + ([] if self.other is None else [self.other])
        self._settle((*(key for key, _ in self.items), *held), bool(self.items) or self.other != UNKNOWN)
        if self.size > MAX_SIZE:
            other = union(limit_depth(value, 0) for value in held)
            self._settle((other,))
            self.items, self.other, self.optional = (), other, frozenset()

    def __hash__(self) -> int:
        return self._remember(self.items, self.other, self.optional)

    @property
    def any_value(self) -> Value:
        """Something that stands for every value; registries are long, and asked again and again."""
        if self._any_value is None:
            self._any_value = union([*(held for _, held in self.items), *(() if self.other is None else (self.other,))])
        return self._any_value


@dataclass(slots=True, eq=False)
class Union(Composite):
    """One of several; which comes first means nothing, but stays the same from run to run."""

    members: tuple[Value, ...]
    _all: frozenset[Value] = field(init=False)

    def __post_init__(self) -> None:
        self._settle(self.members, nests=False)
        self._all = frozenset(self.members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Union) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)


@dataclass(slots=True, unsafe_hash=True)
class Arguments:
    """The arguments of a call; keywords that are `optional` come from a dict that may not have them."""

    positional: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    star: Value | None = None
    double_star: Value | None = None
    optional: frozenset[str] = frozenset()

    def prepend(self, value: Value) -> Arguments:
        positional = (value, *self.positional)
        return Arguments(positional, self.keywords, self.star, self.double_star, self.optional)

    def keyword(self, name: str) -> Value | None:
        return next((value for key, value in self.keywords if key == name), None)

    def all_values(self) -> Iterator[Value]:
        yield from self.positional
        yield from (value for _, value in self.keywords)
        if self.star is not None:
            yield self.star
        if self.double_star is not None:
            yield self.double_star


def members(value: Value) -> Iterable[Value]:
    """The alternatives of a value."""
    return value.members if isinstance(value, Union) else (value,)


def union(values: Iterable[Value]) -> Value:
    """One of the values, tensors at the same place merged; unknown if there are too many."""
    values = tuple(values)
    if len(values) == 1:
        return values[0]
    return _kept_union(values) if sum([value.size for value in values]) > _LARGE else _union(values)


def _union(values: tuple[Value, ...]) -> Value:
    flat: dict[Value, None] = {}
    tensors: dict[Place, Tensor] = {}
    kinds: dict[type, dict[Value, None]] = {}
    for value in values:
        for member in members(value):
            if isinstance(member, Tensor):
                known = tensors.get(member.place)
                tensors[member.place] = member if known is None else _merge_tensors(known, member)
            elif isinstance(member, (Sequence, Mapping, Const)):
                kinds.setdefault(type(member), {}).setdefault(member)
            else:
                flat.setdefault(member)
    flat.update(dict.fromkeys(tensors.values()))
    for kind, group in kinds.items():
        flat.update(dict.fromkeys(_merge_constants(group) if kind is Const else _merge_containers(group)))
    if UNKNOWN in flat and sum(member.is_example for member in flat) > MAX_EXAMPLES:
        flat = {member: None for member in flat if not member.is_example}
    if len(flat) == 1:
        return next(iter(flat))
    if not flat or len(flat) > MAX_MEMBERS:
        return UNKNOWN
    return Union(tuple(flat))


_kept_union = lru_cache(1 << 11)(_union)
forget_unions = _kept_union.cache_clear


def join(left: Value, right: Value) -> Value:
    """What is known where two paths meet."""
    return left if left is right or left == right else union((left, right))


def _merge_tensors(left: Tensor, right: Tensor) -> Tensor:
    return Tensor(
        left.place,
        left.ndim if left.ndim == right.ndim else None,
        left.dtype if left.dtype == right.dtype else None,
        min(left.sure, right.sure),
        left.pinned and right.pinned,
        left.fresh or right.fresh,
        left.literal and right.literal,
        tuple(one for one in left.ones if one in right.ones) if left.ndim == right.ndim else (),
    )


def _merge_constants(group: Iterable[Value]) -> list[Value]:
    """None and strings stay as they are; several numbers of one type are a number of that type."""
    merged: list[Value] = []
    numbers: dict[type, list[Value]] = {}
    for constant in group:
        assert isinstance(constant, Const)
        if constant.kind in (int, float, bool):
            numbers.setdefault(constant.kind, []).append(constant)
        else:
            merged.append(constant)
    for kind, constants in numbers.items():
        merged.append(constants[0] if len(constants) == 1 else Host(kind.__name__))
    return merged


def _merge_containers(group: Iterable[Value]) -> list[Value]:
    """Containers of one kind become one: element by element if they are equally long."""
    by_kind: dict[str, list[Value]] = {}
    for container in group:
        by_kind.setdefault(container.kind if isinstance(container, Sequence) else "dict", []).append(container)
    merged: list[Value] = []
    for containers in by_kind.values():
        result = containers[0]
        for container in containers[1:]:
            if isinstance(result, Sequence) and isinstance(container, Sequence):
                result = _merge_sequences(result, container)
            elif isinstance(result, Mapping) and isinstance(container, Mapping):
                result = _merge_mappings(result, container)
        merged.append(limit_depth(result) if len(containers) > 1 else result)
    return merged


def _merge_sequences(left: Sequence, right: Sequence) -> Sequence:
    if left.elements is not None and right.elements is not None and len(left.elements) == len(right.elements):
        return Sequence(left.kind, tuple(map(join, left.elements, right.elements)))
    prefix = tuple(map(join, left.first, right.first))
    parts = [s.any_element for s in (left, right) if s.elements is None or s.elements]
    return Sequence(left.kind, None, union(parts), prefix)


def _merge_mappings(left: Mapping, right: Mapping) -> Mapping:
    items = dict(left.items)
    for key, value in right.items:
        items[key] = join(items[key], value) if key in items else value
    optional = left.optional | right.optional
    for mapping in (left, right):
        missing = items.keys() - dict(mapping.items).keys()
        optional |= missing
        if mapping.other is not None:  # under a key that is not known there it may hold another number
            items |= {key: _of_kind(items[key]) for key in missing}
    other = left.other if right.other is None else right.other if left.other is None else join(left.other, right.other)
    return Mapping(tuple(items.items()), other, optional)


def _of_kind(value: Value) -> Value:
    """Another number of the same kind; what is no number stays."""
    return Host(value.kind.__name__) if isinstance(value, Const) and value.kind in (int, float) else value


def limit_depth(value: Value, depth: int = MAX_DEPTH) -> Value:
    """The value with everything below a depth unknown, so that a loop which nests a container comes to rest."""
    if value.height <= depth and value.size <= MAX_ELEMENTS:
        return value
    if isinstance(value, Sequence):
        if depth == 0:
            return Sequence(value.kind, None, UNKNOWN)
        if value.elements is None or len(value.elements) > MAX_ELEMENTS:
            prefix = tuple(limit_depth(e, depth - 1) for e in value.prefix)
            return Sequence(value.kind, None, limit_depth(value.any_element, depth - 1), prefix)
        return Sequence(value.kind, tuple(limit_depth(e, depth - 1) for e in value.elements))
    if isinstance(value, Mapping):
        if depth == 0:
            return Mapping((), UNKNOWN)
        if len(value.items) > MAX_ELEMENTS:
            return Mapping((), limit_depth(value.any_value, depth - 1))
        items = tuple((key, limit_depth(v, depth - 1)) for key, v in value.items)
        return Mapping(items, None if value.other is None else limit_depth(value.other, depth - 1), value.optional)
    if isinstance(value, Union) and any(isinstance(m, (Sequence, Mapping)) for m in value.members):
        return union(limit_depth(m, depth) for m in value.members)
    return value
