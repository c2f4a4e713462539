"""Records: the class that `namedtuple` makes, what an object of one holds, in order, and copies with other fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Instance
from graphlint.static.index.module import ClassDefinition, Module, Segment
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Arguments, Const, Mapping, Sequence, Value, members, union
from graphlint.values.queries import perhaps

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

TYPED = "typing.NamedTuple"


class Records:
    """Knows named tuples as classes with fields and as tuples."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.made: dict[tuple[Module, str, tuple[str, ...]], ClassDefinition] = {}

    def define(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The class that `namedtuple("Size", "height width")` makes."""
        named, fields, *_ = *arguments.positional, UNKNOWN, UNKNOWN
        names = _names(fields)
        if node is None or names is None or not isinstance(named, Const) or not isinstance(named.value, str):
            return UNKNOWN
        key = (frame.module, named.value, names)
        if key not in self.made:
            first, _, last, _ = node.pos
            segment = Segment(frame.function.first_line + first, frame.function.first_line + last)
            made = ClassDefinition(frame.module, named.value, named.value, segment, segment.first, (), ())
            made.annotations = dict.fromkeys(names, "object")
            self.made[key] = made
            self.interpreter.classes.orders[made] = (made, TYPED)
        return Class(self.made[key])

    def fields(self, cls: ClassDefinition) -> tuple[str, ...] | None:
        """The fields of a class of named tuples; None for any other class."""
        classes = self.interpreter.classes
        if TYPED not in classes.external_bases(cls):
            return None
        order = [base for base in classes.order(cls) if isinstance(base, ClassDefinition)]
        return tuple(dict.fromkeys(name for base in reversed(order) for name in base.annotations))

    def held(self, instance: Instance) -> Sequence | None:
        """What an object holds as a tuple; None if it is none."""
        fields = self.fields(instance.cls)
        if fields is None:
            return None
        known, annotated = self.interpreter.heap.attributes(instance), self.interpreter.classes.annotated
        return Sequence("tuple", tuple(known.get(name, annotated(instance.cls, name)) for name in fields))

    def call_method(self, instance: Instance, name: str, arguments: Arguments, frame: Frame) -> Value | None:
        """`_replace` and `_asdict`; None for another method."""
        fields = self.fields(instance.cls) if name in ("_replace", "_asdict") else None
        held = self.held(instance)
        if fields is None or held is None or held.elements is None:
            return None
        values = dict(zip(fields, held.elements, strict=True))
        if name == "_asdict":
            return Mapping(tuple((Const(field), value) for field, value in values.items()))
        if arguments.double_star is not None:
            return self.interpreter.heap.promised(instance.cls)
        changed = Arguments((), tuple((values | dict(arguments.keywords)).items()))
        return self.interpreter.call(Class(instance.cls), changed, None, frame)

    def changed_copy(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`dataclasses.replace(batch, size=4)`: an object of the class of each that it may be."""
        held = arguments.positional[0] if arguments.positional else UNKNOWN
        return union(
            self._changed(one, arguments, node, frame) if isinstance(one, Instance) else UNKNOWN
            for one in members(held)
        )

    def _changed(self, instance: Instance, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        heap = self.interpreter.heap
        if instance.arguments is None:
            return heap.promised(instance.cls)
        order = [base for base in self.interpreter.classes.order(instance.cls) if isinstance(base, ClassDefinition)]
        names = dict.fromkeys(name for base in reversed(order) for name in base.annotations)
        fields = {name: heap.load(instance, name, frame) for name in names}
        if arguments.double_star is not None:
            fields = {name: perhaps(value, arguments.double_star) for name, value in fields.items()}
        made = Arguments((), tuple((fields | dict(arguments.keywords)).items()))
        copy = self.interpreter.call(Class(instance.cls), made, node, frame)
        if isinstance(copy, Instance):
            heap.written |= {(copy, name) for name in fields if (instance, name) in heap.written}
        return copy


def _names(fields: Value) -> tuple[str, ...] | None:
    """The fields that `namedtuple` is given, as a text or one by one, each alone or with its type."""
    if isinstance(fields, Const) and isinstance(fields.value, str):
        return tuple(fields.value.replace(",", " ").split())
    if not isinstance(fields, Sequence) or fields.elements is None:
        return None
    firsts = [e.first[0] if isinstance(e, Sequence) and e.first else e for e in fields.elements]
    names = [first.value for first in firsts if isinstance(first, Const) and isinstance(first.value, str)]
    return tuple(names) if len(names) == len(firsts) else None
