"""Where the numbers of a region come from: host state that is read, parameters, and what a region does with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from graphlint.finding import Span
from graphlint.static.domain.assumptions import Assumptions
from graphlint.static.domain.contexts import Context, Frame, Mode, Source
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.syntax import ir


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables of a function and of those inside of it, by the first line of the outermost."""

    module: Module
    first_line: int


@dataclass(frozen=True, slots=True)
class State:
    """A piece of host state: an attribute of the objects of a class, a variable of a module, or one of a function.

    `key` is that of an item of it, where it is known. Of what a parameter is given, callers say which state that is.
    """

    owner: ClassDefinition | Module | Scope | Taken
    name: str
    key: object = None


@dataclass(slots=True, eq=False)
class Place:
    """A node of a function that runs in a region, as far as what is found out later needs it."""

    function: Function
    node: ir.Node
    sink: Context
    assumed: Assumptions
    is_doubtful: bool = False
    is_soft: bool = False  # compiled, which a changed number does again

    @classmethod
    def of(cls, frame: Frame, node: ir.Node) -> Place:
        """A node, in the frame that runs it."""
        return cls(frame.function, node, frame.sink, frame.assumptions, frame.doubtful, frame.mode is Mode.SOFT)

    @property
    def span(self) -> Span:
        """Where it stands."""
        return self.function.span_of(self.node)

    @property
    def line(self) -> int:
        return self.function.line_of(self.node)


@dataclass(slots=True, eq=False)
class Read(Source):
    """State is read in a region, and is a number or a tensor of the host, or may be anything.

    Where it `is_through`, the state is an object, and what is read is an attribute of it. It `is_foreign` where it is
    one of an object that the function was handed, which may be another one in each run. What `is_length` asks how many
    elements there are.
    """

    state: State
    place: Place
    is_number: bool = False
    is_tensor: bool = False
    is_through: bool = False
    is_foreign: bool = False
    is_length: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is read of what a parameter is given, and nobody has said yet which state that is."""
        return isinstance(self.state.owner, Taken)


@dataclass(frozen=True, slots=True)
class Taken(Source):
    """What a parameter is given by whoever calls."""

    context: Context = field(hash=True)
    name: str
    function: Function = field(compare=False)


@dataclass(slots=True, eq=False)
class Draw(Source):
    """A number of which nobody knows before what it is: `kind` is `draws` of a generator, or `clocks`."""

    kind: str
    place: Place


@dataclass(frozen=True, slots=True)
class Guard(Source):
    """Whether a capture is under way."""


GUARD = Guard()
Sources: TypeAlias = "frozenset[Source]"
NOTHING: frozenset[Source] = frozenset()


@dataclass(slots=True, eq=False)
class Change:
    """A region changes state; `is_foreign` where that is of an object which the function was handed."""

    state: State
    place: Place
    is_foreign: bool = False
