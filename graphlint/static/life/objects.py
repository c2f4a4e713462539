"""The objects of a rehearsed run: each has an identity, unlike the values of the interpreter, and may change.

What is known of the host (numbers, strings, None) is the Python value itself; `Symbol` is one that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from graphlint.finding import Hop, Region, Span
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.values import MAX_ELEMENTS

Object: TypeAlias = Any  # a plain Python value, or one of the classes below
PLAIN = (bool, int, float, str, bytes, type(None))  # what is known of the host is the value itself
MAX_REACH = 400  # objects that one leads to; behind that, nothing is said of what it holds

_PICKING = ("index_", "masked_", "put_", "scatter_")  # how the names of methods begin that write to places


class Place(NamedTuple):
    """A node of a function, and the calls on the way there from where the run began; each statement makes one."""

    function: Function
    node: ir.Node
    way: tuple[Hop, ...] = ()

    @property
    def path(self) -> str:
        return str(self.function.module.path)

    @property
    def name(self) -> str:
        return f"{self.function.module.name}:{self.function.qualname}"

    @property
    def line(self) -> int:
        return self.function.line_of(self.node)

    @property
    def span(self) -> Span:
        return self.function.span_of(self.node)

    @property
    def text(self) -> str:
        return self.function.source(self.node)

    @property
    def picks(self) -> bool:
        """Whether a method is called that writes to the places alone that it is given, by its name."""
        func = self.node.func if isinstance(self.node, ir.Call) else None
        return isinstance(func, ir.Attribute) and func.attr.startswith(_PICKING)


@dataclass(slots=True, eq=False)
class Frame:
    """A function while it runs; `scope` is the frame that it was defined in."""

    function: Function
    scope: Frame | None = None
    env: dict[str, Object] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)  # names that are `global` or `nonlocal`
    receiver: Object = None
    on_yield: Callable[[Object], Object] | None = None
    way: tuple[Hop, ...] = ()
    caller: Frame | None = None
    owner: object = None  # the class that a method stands in
    results: list[Object] = field(default_factory=list)  # what it returned or yielded
    given: list[Object] = field(default_factory=list)  # its arguments
    statement: Place | None = None  # that runs
    before: dict[str, Object] = field(default_factory=dict)  # its names where its capture began

    @property
    def is_entry(self) -> bool:
        """Whether it is called from outside of the program."""
        return self.caller is None or self.caller.caller is None

    def place(self, node: ir.Node) -> Place:
        return Place(self.function, node, self.way)

    def bound(self, names: Set[str] | None = None) -> Iterator[Object]:
        """What the names of the function and of those around it hold, or some of these names."""
        yield from (value for name, value in self.env.items() if names is None or name in names)
        if self.scope is not None:
            yield from self.scope.bound(names)

    def stack(self) -> Iterator[Frame]:
        """The frame and those of its callers."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller


@dataclass(slots=True, eq=False)
class Symbol:
    """A host value that nobody knows; `of` are the arguments that it was computed from.

    `likely` is the truth that is tried first, if it has a default. `read` is where it was read out of a tensor.
    """

    of: frozenset[Thing] = frozenset()
    likely: bool | None = None
    read: Place | None = None


@dataclass(slots=True, eq=False)
class Thing:
    """Something of which little is known: an argument, what an unknown call gave, an attribute of such a one.

    `made_in` is the capture that was open when it came to be. `source` are the things that it was computed from, as are
    the `numbers`.
    `presumed` is the class of the project that an annotation says it is of. If it `is_array`, the program has asked.
    """

    made: Place | None = None
    made_in: Capture | None = None
    attributes: dict[str, Object] = field(default_factory=dict)
    items: dict[object, Object] = field(default_factory=dict)
    source: tuple[Thing, ...] = ()
    argument: str | None = None  # the parameter of a run's first function that it was given for
    truth: bool | None = None
    presumed: ClassDefinition | None = None
    numbers: tuple[Symbol, ...] = ()
    is_array: bool = False

    @property
    def root(self) -> Thing:
        """What owns the memory."""
        return self

    @property
    def is_whole(self) -> bool:
        """Whether it is all of what its root holds."""
        return True


@dataclass(slots=True, eq=False)
class Tensor(Thing):
    """A tensor; a view has the tensor that it looks into as `base`, and `is_part` if it does not see all of it.

    `index` is what selects the part. `factory` is the name of the operation that made it, `place` where the data lies.
    """

    base: Thing | None = None
    is_part: bool = False
    index: ir.Expr | None = None
    bounds: dict[ir.Node, Object] = field(default_factory=dict)  # what the ends of its slices are
    factory: str = ""
    place: str | None = None
    pinned: bool = False
    sizes: tuple[Object, ...] | None = None
    is_leaf: bool = False  # whether it asks for a gradient of its own

    @property
    def root(self) -> Thing:
        return self if self.base is None else self.base.root

    @property
    def is_whole(self) -> bool:
        return not self.is_part and (self.base is None or self.base.is_whole)


@dataclass(slots=True, eq=False)
class Made(Thing):
    """An object of a class outside the project, by its qualified name."""

    cls: str = ""
    given: dict[str | int, Object] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Instance(Thing):
    """An object of a class of the project."""

    cls: ClassDefinition = field(kw_only=True)
    is_module: bool = False
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Container(Thing):
    """A list, tuple, set or dict: what it is known to hold; `is_open` if there may be more.

    If it `is_guessed`, nobody knows how many a comprehension gives; one that `is_sifted` may give none of it, since it
    has a condition that nobody knows.
    """

    kind: str = "list"
    elements: list[Object] = field(default_factory=list)
    keyed: dict[object, tuple[Object, Object]] = field(default_factory=dict)  # identity: key, value
    is_open: bool = False
    is_guessed: bool = False
    is_sifted: bool = False

    def values(self) -> list[Object]:
        return [*self.elements, *(value for _, value in self.keyed.values())]

    def take(self, more: Sequence[Object]) -> None:
        """Hold more elements, as long as they are few."""
        room = max(0, MAX_ELEMENTS - len(self.elements))
        self.elements += more[:room]
        self.is_open |= len(more) > room


@dataclass(slots=True, eq=False)
class Closure:
    """A function of the project with the frame that it was defined in, and the object that it is a method of.

    One that `is_cached` gives what it gave before, if it is called with the same.
    """

    function: Function
    scope: Frame | None = None
    receiver: Object = None
    is_bound: bool = False
    is_cached: bool = False

    @property
    def reads(self) -> Set[str] | None:
        """The names that it keeps of the functions around it; any, where it fills one with what it is given."""
        code = self.function.code
        return code.loads if all(one.name in code.loads for one in code.parameters) else None


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of the project."""

    definition: ClassDefinition


@dataclass(frozen=True, slots=True)
class Outside:
    """Something outside the project, by its qualified name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class MethodOf:
    """A method, by name, of an object that is none of the project."""

    receiver: Object
    name: str


class Arguments:
    """What a call is given; `is_open` if a star hides some of it."""

    __slots__ = ("is_open", "keywords", "positional")

    def __init__(self, positional: Iterable[Object] = (), keywords: dict[str, Object] | None = None) -> None:
        self.positional = list(positional)
        self.keywords = dict(keywords or {})
        self.is_open = False

    def get(self, position: int, *names: str) -> Object:
        """An argument by its position or its name; None if it is left out."""
        if position < len(self.positional):
            return self.positional[position]
        return next((self.keywords[name] for name in names if name in self.keywords), None)

    def all(self) -> list[Object]:
        return [*self.positional, *self.keywords.values()]


@dataclass(slots=True, eq=False)
class Capture:
    """One capture: what was read and written in it that was there before, and what came to be in it.

    `reads` and `writes` have the first place of each root; `accumulates` are roots that were read before they were
    written, or changed by what they held. `began` and `ended` are moments.
    """

    graph: Thing
    region: Region
    place: Place
    began: int
    owner: Object = None
    ended: int | None = None
    reads: dict[Thing, Place] = field(default_factory=dict)
    writes: dict[Thing, Place] = field(default_factory=dict)
    accumulates: dict[Thing, Place] = field(default_factory=dict)
    in_part: dict[Thing, bool] = field(default_factory=dict)  # of which it writes a part; whether it reads the rest
    paths: dict[tuple[object, str], Object] = field(default_factory=dict)
    """What tensors were read through: attributes of objects, keys of dictionaries, local names of frames."""
    replays: list[int] = field(default_factory=list)
    views: dict[Thing, Place] = field(default_factory=dict)  # what was read, as it was read
    sure: set[Thing] = field(default_factory=set)  # what operations read, and not only unknown calls
    callees: set[Thing] = field(default_factory=set)  # what was called, of that which nobody knows
    modules: dict[Thing, Place] = field(default_factory=dict)  # that were called in it
    may_be_replayed: bool = False  # by an unknown call that was given its graph
    manager: Object = None  # what was entered, if it was not begun by hand

    @classmethod
    def unseen(cls, kind: str, place: Place) -> Capture:
        """One of which no run has been seen: what stands at a place tells that there is one."""
        return cls(Thing(), Region(kind, str(place.function.module.path), place.line), place, 0)


def class_of(value: Object) -> ClassDefinition | None:
    """The class of the project that an object is of, or presumably is."""
    return value.cls if isinstance(value, Instance) else value.presumed if isinstance(value, Thing) else None


def held_by(owner: object, name: str) -> Object:
    """What an object, a dictionary or a frame holds under a name now, or a list at a place that is written as `[0]`."""
    if isinstance(owner, Made) and name.startswith("["):  # a module that calls others
        return owner.given.get(int(name[1:-1]))
    if isinstance(owner, Container) and owner.kind != "dict":
        count = len(owner.elements)
        return next((one for n, one in enumerate(owner.elements) if name in (f"[{n}]", f"[{n - count}]")), None)
    if isinstance(owner, Container):
        return next((value for key, value in owner.keyed.values() if key == name), None)
    return (owner.attributes if isinstance(owner, Thing) else getattr(owner, "env", {})).get(name)


def is_made_up(value: Object) -> bool:
    """Whether something stands for what nobody was seen to set: an attribute that was read all the same."""
    return type(value) is Thing and value.made is None and value.argument is None


def is_tensor(value: Object) -> bool:
    """Whether something may be a tensor."""
    return isinstance(value, Tensor) or (type(value) is Thing and value.presumed is None)


_LEADING = (Thing, Closure, MethodOf)  # what has parts that other values are reached by


def things_in(value: Object) -> Iterator[Thing]:
    """Everything with an identity that a value leads to, itself first; what lies behind modules is left out."""
    seen: set[int] = set()
    pending = [value]
    for one in pending:  # which grows meanwhile
        if not isinstance(one, _LEADING) or id(one) in seen:
            continue
        if len(seen) >= MAX_REACH:
            return
        seen.add(id(one))
        if isinstance(one, Thing):
            yield one
            if isinstance(one, Tensor):
                pending.append(one.base)
            elif isinstance(one, Container):
                pending += one.values()
            elif isinstance(one, Made):
                pending += one.given.values()
            pending += one.attributes.values()
            pending += one.items.values()
        elif isinstance(one, Closure):
            pending += [one.receiver, *(one.scope.bound(one.reads) if one.scope is not None else ())]
        else:
            pending.append(one.receiver)


def wrapper(name: str, target: Object, given: Arguments, place: Place) -> Made:
    """What stands for a callable from now on; without a target it is a decorator that waits for one."""
    return Made(place, cls=name, state={"wrapped": target, "given": given})


def duplicate(value: Object, copies: dict[int, Object] | None = None, capture: Capture | None = None) -> Object:
    """A deep copy, as far as modules and what they are made of go, perhaps made in a capture; `copies` were begun."""
    copies = {} if copies is None else copies
    if id(value) in copies:
        return copies[id(value)]
    made: Thing
    match value:
        case Made():
            made = copies[id(value)] = replace(value, given={}, source=())
            made.given |= {key: duplicate(held, copies, capture) for key, held in value.given.items()}
        case Instance():
            made = copies[id(value)] = replace(value, attributes={}, source=())
            for key, one in value.attributes.items():
                made.attributes[key] = duplicate(one, copies, capture) if isinstance(one, (Made, Instance)) else one
        case Container():
            made = copies[id(value)] = replace(value, elements=[])
            made.elements += [duplicate(one, copies, capture) for one in value.elements]
        case Tensor():
            made = Tensor(value.made, capture or value.made_in, factory="copy.deepcopy", is_leaf=value.is_leaf)
        case Thing():
            made = Thing(value.made)
        case _:
            return value
    return copies.setdefault(id(value), made)
