"""Records in a rehearsed run: objects of dataclasses and of named tuples, and copies of them with other fields."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.interpreter.records import TYPED
from graphlint.static.life.builtins import Builtins
from graphlint.static.life.objects import (
    PLAIN,
    Arguments,
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    MethodOf,
    Object,
    Thing,
)
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Const, Sequence, Value
from graphlint.values import Arguments as Values

_COPIES = frozenset({"copy.replace", "dataclasses.replace"})
_TUPLES = frozenset({"collections.namedtuple", TYPED})
_NAMESPACE = "types.SimpleNamespace"
_DICTIONARIES = {"collections.OrderedDict": 0, "collections.defaultdict": 1}  # what they are given before it
_FIELD = "dataclasses.field"


class Records(Builtins):
    """Evaluates what makes and copies records."""

    def call_outside(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call by qualified name."""
        first = given.get(0)
        if name in _COPIES and isinstance(first, Instance):
            return self.changed_copy(first, given, node, frame)
        if name in _DICTIONARIES:
            held = Arguments(given.positional[_DICTIONARIES[name] :], given.keywords)
            return self.call_builtin("dict", held, node, frame)
        if name in _TUPLES and isinstance(node, ir.Call):
            return self._defined(given, node, frame)
        made = super().call_outside(name, given, node, frame)
        if name == _NAMESPACE and isinstance(made, Made):
            made.attributes |= given.keywords
        return made

    def _defined(self, given: Arguments, node: ir.Call, frame: Frame) -> Object:
        """The class that `namedtuple("Entry", "graph out")` makes."""
        held = Values(tuple(map(_as_value, given.positional)))
        defined = self.interpreter.records.define(held, node, self.abstract_frame(frame))
        return self.concrete(defined)

    def call_method(self, receiver: Object, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A method of what is not of the project: named tuples have one that makes a copy."""
        if name == "_replace" and isinstance(receiver, Instance):
            return self.changed_copy(receiver, Arguments([receiver], given.keywords), node, frame)
        return super().call_method(receiver, name, given, node, frame)

    def attribute(self, owner: Object, name: str, frame: Frame, node: ir.Node) -> Object:
        """An attribute of a value."""
        if name == "_replace" and self.held_in(owner) is not None:
            return MethodOf(owner, name)
        return super().attribute(owner, name, frame, node)

    def changed_copy(self, record: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """An object like another one, with other fields."""
        held = {name: record.attributes[name] for name in self.fields_of(record.cls) if name in record.attributes}
        return self.call(ClassRef(record.cls), Arguments((), held | given.keywords), node, frame)

    def concrete(self, value: Value) -> Object:
        """What the interpreter knows of a value, as an object of the run; a list of plain values is one of the run."""
        if isinstance(value, Sequence) and value.kind in ("list", "tuple") and value.elements:
            held = [one.value for one in value.elements if isinstance(one, Const) and isinstance(one.value, PLAIN)]
            if len(held) == len(value.elements):
                return Container(kind=value.kind, elements=held)
        return super().concrete(value)

    def fields_of(self, cls: ClassDefinition) -> list[str]:
        """The annotated names of a class and its bases, in the order in which an object takes them."""
        order = [base for base in self.interpreter.classes.order(cls) if isinstance(base, ClassDefinition)]
        return list(dict.fromkeys(name for base in reversed(order) for name in base.annotations))

    def filled(self, made: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Instance:
        """An object whose class has no constructor of its own: a dataclass has one that takes its fields."""
        names = self.fields_of(made.cls)
        made.attributes |= dict(zip(names, given.positional, strict=False)) | given.keywords
        for name in names:
            if name not in made.attributes:
                self._make_default(made, name, frame)
        finish = self.of_class(made.cls, "__post_init__", made, frame)
        if isinstance(finish, Closure):
            self.call(finish, Arguments(), node, frame)
        return made

    def _make_default(self, made: Instance, name: str, frame: Frame) -> None:
        """Give a field what `field(default_factory=dict)` makes anew for each object."""
        found = self.interpreter.classes.find(made.cls, name)
        owner = found[0] if found is not None else None
        for segment in owner.assignments.get(name, ()) if isinstance(owner, ClassDefinition) else ():
            assert isinstance(owner, ClassDefinition)
            home = Frame(Function(MODULE_CODE, owner.module, "<module>", segment.first), caller=frame, way=frame.way)
            for statement in owner.module.lowered(segment):
                match statement:
                    case ir.Assign(value=ir.Call(func=func, arguments=arguments)) if self._is_field(func, owner):
                        for argument in arguments:
                            if argument.keyword == "default_factory":
                                made.attributes[name] = self.call(
                                    self.eval(argument.value, home), Arguments(), argument.value, home
                                )
                            elif argument.keyword == "default":
                                made.attributes[name] = self.eval(argument.value, home)

    def _is_field(self, func: ir.Expr, owner: ClassDefinition) -> bool:
        return self.interpreter.names.qualified_name(func, owner.module) == _FIELD

    def unpacked(self, value: Object, count: int, frame: Frame, node: ir.Node) -> list[Object]:
        """The parts of what is assigned to several targets: a named tuple has its fields."""
        held = self.held_in(value)
        return held if held is not None and len(held) == count else super().unpacked(value, count, frame, node)

    def item(self, owner: Object, index: Object, node: ir.Subscript, frame: Frame) -> Object:
        """`owner[index]`; of a named tuple, a field."""
        held = self.held_in(owner)
        is_there = held is not None and isinstance(index, int) and -len(held) <= index < len(held)
        return held[index] if held is not None and is_there else super().item(owner, index, node, frame)

    def held_in(self, value: Object) -> list[Object] | None:
        """The fields of a named tuple, in order; None for anything else."""
        if not isinstance(value, Instance) or TYPED not in self.interpreter.classes.external_bases(value.cls):
            return None
        return [value.attributes.get(name, Thing()) for name in self.fields_of(value.cls)]

    @abstractmethod
    def abstract_frame(self, frame: Frame) -> Any: ...


def _as_value(known: Object) -> Value:
    """What is known of a name, or of a list of names, as the interpreter has it."""
    if isinstance(known, Container):
        return Sequence("list", tuple(map(_as_value, known.elements)))
    return Const(known) if isinstance(known, PLAIN) else UNKNOWN
