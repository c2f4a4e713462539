"""The values that a program defines: its modules, functions, classes and their objects."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from graphlint.finding import Span
from graphlint.static.index.module import ClassDefinition, Definition, Module, nested_class
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import defined_in
from graphlint.values import Arguments, External, Value

LOCALS = ".<locals>."  # what stands between the names of a function and of one within it
CONTENT = "<content>"  # what an object that is a container holds
ANY = "<any>"  # what is stored under names that are not known
# The `type` of a device that is not the host: "cuda" as far as it is asked for, or that of another accelerator.
ACCELERATOR = External("<device>:type")
APPLY = External("<apply>")  # what runs the `forward` of an autograd function


@dataclass(frozen=True, slots=True)
class ModuleValue(Value):
    """A module of the project."""

    is_true: ClassVar[bool] = True

    module: Module


@dataclass(frozen=True, slots=True)
class PackageValue(Value):
    """A folder of modules without a source of its own."""

    name: str


@dataclass(slots=True)
class Function(Value):
    """A function: code, where its segment begins, and the values that it closes over.

    Names that it closes over are `fresh` where the whole of the function that binds them runs in a region.
    """

    is_true: ClassVar[bool] = True

    code: ir.Code
    module: Module
    qualname: str
    first_line: int
    owner: ClassDefinition | None = None
    closure: tuple[tuple[str, Value], ...] = ()
    fresh: frozenset[str] = frozenset()
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if self._hash is None:  # it is asked for again and again
            self._hash = hash((self.code, self.module, self.first_line, self.closure))
        return self._hash

    @property
    def is_nested(self) -> bool:
        """Whether it is defined inside another one, as a part of which it counts."""
        return "<locals>" in self.qualname

    @property
    def receiver(self) -> str | None:
        """The parameter that stands for the object whose method this is, or for its class."""
        is_static = any(isinstance(one, ir.Name) and one.id == "staticmethod" for one in self.code.decorators)
        return self.code.parameters[0].name if self.owner and self.code.parameters and not is_static else None

    def line_of(self, node: ir.Node) -> int:
        """The line that a node begins on."""
        return self.first_line + node.pos[0]

    def span_of(self, node: ir.Node) -> Span:
        """Where a node stands; columns count from 1."""
        line, column, end_line, end_column = node.pos
        first = self.first_line
        return Span(str(self.module.path), first + line, column + 1, first + end_line, end_column + 1)

    def source(self, node: ir.Node) -> str:
        """The source text of a node on one line, cut where it gets long."""
        line, column, end_line, end_column = node.pos
        text = self.module.source_at(self.first_line + line, column, self.first_line + end_line, end_column)
        text = " ".join(text.split())
        return text if len(text) <= 72 else text[:69] + "..."


def function_of(definition: Definition, owner: ClassDefinition | None = None) -> Function | None:
    """A function as it is written, without its decorators; None where its source cannot be read."""
    code = definition.code
    if code is None:
        return None
    return Function(code, definition.module, definition.qualname, definition.segment.first, owner)


@dataclass(slots=True, eq=False)
class InnerDefinition(Definition):
    """A function within another one, which makes it anew whenever it runs."""

    around: Definition

    @property
    def code(self) -> ir.Code | None:
        return _inner_code(self.around, self.name)


def inner_definition(around: Definition, name: str) -> InnerDefinition | None:
    """The function of a name that stands within another one."""
    code = _inner_code(around, name)
    if code is None:
        return None
    first, qualname = around.segment.first, f"{around.qualname}{LOCALS}{name}"
    return InnerDefinition(around.module, name, qualname, around.segment, first + code.pos[0], around)


def _inner_code(around: Definition, name: str) -> ir.Code | None:
    code = around.code
    return next((one for one in defined_in(code) if one.name == name), None) if code is not None else None


def owner_of(definition: Definition) -> ClassDefinition | None:
    """The class that a method is written in; None for a function."""
    return nested_class(definition.module.index.classes, definition.qualname.split(".")[:-1])


def functions_with(module: Module, words: Collection[str]) -> Iterator[Function]:
    """The functions of a module, as they are written, in which one of some words stands."""
    for definition in module.index.all_functions():
        is_asked = any(module.holds(definition.segment, word) for word in words)
        if is_asked and (function := function_of(definition)) is not None:
            yield function


@dataclass(slots=True, unsafe_hash=True)
class Bound(Value):
    """A callable with its first argument: a method of a project class, or of anything that `call` knows by name."""

    is_true: ClassVar[bool] = True

    function: Value
    receiver: Value


@dataclass(slots=True, unsafe_hash=True)
class Method(Value):
    """A method, by name, of a tensor, container, host value or external object; or any attribute that is not known."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Partial(Value):
    """`functools.partial`."""

    is_true: ClassVar[bool] = True

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Graphed(Value):
    """A function whose calls make a graph: they belong to the region that was opened for it at this place."""

    is_true: ClassVar[bool] = True

    function: Value
    kind: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Class(Value):
    """A class of the project."""

    is_true: ClassVar[bool] = True
    is_example: ClassVar[bool] = True

    definition: ClassDefinition


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An object of a project class. The interpreter hands out one for each class and set of arguments."""

    is_example: ClassVar[bool] = True

    cls: ClassDefinition
    arguments: Arguments | None
    in_region: bool


@dataclass(frozen=True, slots=True)
class Super(Value):
    """`super()`: the classes after `after` in the order of the instance's class."""

    after: ClassDefinition
    receiver: Value
