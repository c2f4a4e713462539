"""A program in, out what it may run where a caller says on which device tensors are made."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Function, Instance
from graphlint.static.index.module import ClassDefinition, Definition, Module, Segment
from graphlint.static.index.parts import segments_with
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Arguments, DeviceName, Place, Value, members
from graphlint.values.queries import tensors_in

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

BUDGET = 400  # contexts that what stands around one block may take: what takes more tells nothing new


class Placements:
    """Knows what runs in `with torch.device(...):`, in whatever function that stands."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.objects: dict[Instance, frozenset[Value]] = {}  # that are made in such a block, and its device

    def around(self, function: Function, around: frozenset[Value]) -> frozenset[Value]:
        """What is in force in a function: where a caller may have said where tensors are made, nobody knows that."""
        noted = None if _devices(around) else self._noted
        if noted is None:
            return around
        is_placed = _named(function) in noted.functions or (noted.is_open and self._makes_module(function))
        is_placed = is_placed or (function.owner is not None and function.code.name in noted.methods)
        return around | {DeviceName(Place.ANYWHERE)} if is_placed else around

    def _makes_module(self, function: Function) -> bool:
        """Whether a function is the constructor of a module of torch."""
        if function.owner is None or function.code.name != "__init__":
            return False
        bases = self.interpreter.classes.external_bases(function.owner)
        return not self.interpreter.lexicon.modules["base"].isdisjoint(bases)

    def unknown(self, node: ir.Call | None, arguments: Arguments | None, frame: Frame) -> None:
        """Something is called that nobody knows."""

    def made(self, instance: Instance, frame: Frame) -> None:
        """An object is made here."""
        devices = _devices(frame.around)
        if devices:
            self.objects.setdefault(instance, devices)

    def around_constructor(self, instance: Instance) -> frozenset[Value]:
        """What is in force where an object is made."""
        return self.objects.get(instance, frozenset())

    @cached_property
    def _noted(self) -> _Noted | None:
        """What runs in such blocks; who finds it out keeps nothing else of what it sees on the way."""
        blocks = [*self._blocks()]
        if not blocks:
            return None
        scout = self.interpreter.anew()
        scout.placements = noted = _Noted(scout)
        for module, definition, segment in blocks:
            with scout.aside(BUDGET), suppress(RecursionError):  # what nests too deep is told where a region needs it
                if definition is not None:
                    scout.instances.constructions.run(definition)
                else:
                    scout.block(module.lowered(segment), scout.names.module_frame(module, segment.first))
                noted.construct()
        return noted

    def _blocks(self) -> Iterator[tuple[Module, Definition | None, Segment]]:
        """What may enter a device: one that is made there, or something that may be one by its name."""
        project, types = self.interpreter.project, sorted(self.interpreter.lexicon.device_types)
        spelt = _any_of(types)
        # Begins with plain text, which is found ten times faster.
        entered = re.compile(rf"with(?<!\wwith)\b(?:[^\n]*?{spelt}\(|[\s(]+(?P<held>[\w.]+)\s*[:,])")
        for path in project.answering(HoldsAny([*types, *(f"{_last(name)}(" for name in types)], entered.pattern)):
            module = project.module_at(path)
            for definition, segment in segments_with(module, "with"):
                held = [found["held"] for found in entered.finditer(module.source_of(segment, is_exact=True))]
                if not all(name and not module.ask(_may_be, name, spelt) for name in held):
                    yield module, definition, segment


class _Noted(Placements):
    """Notes what runs in such a block, and changes nothing; it `is_open` if something unknown makes objects there.

    `methods` are those that set up an object there which nobody knows, by their names.
    """

    def __init__(self, interpreter: Interpreter) -> None:
        super().__init__(interpreter)
        self.functions: set[tuple[Module, str]] = set()
        self.methods: set[str] = set()
        self.is_open = False

    def unknown(self, node: ir.Call | None, arguments: Arguments | None, frame: Frame) -> None:
        """A model is made out of a configuration: one that is given tensors is there already.

        A parameter that is a class unless a caller says otherwise stands for such as that one.
        """
        if not _devices(frame.around) - {DeviceName(Place.HOST)}:
            return
        default = self._default(node, frame)
        if default is not None:
            made = self.interpreter.classes.method(default, "__init__")
            self.functions.update(_named(one) for one in members(made or UNKNOWN) if isinstance(one, Function))
            return
        is_given = arguments is None or any(True for value in arguments.all_values() for _ in tensors_in(value))
        self.is_open |= not is_given
        name = node.func.attr if node is not None and isinstance(node.func, ir.Attribute) else ""
        if self.interpreter.lexicon.host_state["prepares"].match(name):
            self.methods.add(name)

    def _default(self, node: ir.Call | None, frame: Frame) -> ClassDefinition | None:
        """The class that a call makes an object of by default: one of a parameter whose default is a class."""
        function = frame.function
        if node is None or function is None or not isinstance(node.func, ir.Name):
            return None
        name = node.func.id
        default = next((one.default for one in function.code.parameters if one.name == name), None)
        meant = None if default is None else self.interpreter.static_value(default, function.module)
        return meant.definition if isinstance(meant, Class) else None

    def around(self, function: Function, around: frozenset[Value]) -> frozenset[Value]:
        if _devices(around) - {DeviceName(Place.HOST)}:
            self.functions.add(_named(function))
        return around

    def construct(self) -> None:
        """Run the constructors of all objects that are made there."""
        done = 0
        while made := [*self.objects][done:]:
            done += len(made)
            for instance in made:
                self.interpreter.heap.attributes(instance)


def _named(function: Function) -> tuple[Module, str]:
    return function.module, function.qualname


def _devices(around: frozenset[Value]) -> frozenset[Value]:
    """The device that is in force, if any is."""
    return frozenset(value for value in around if isinstance(value, DeviceName))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _any_of(types: Iterable[str]) -> str:
    """How these types may be spelt: in full, by their last names, or behind another name of their package."""
    spelt = (rf"{re.escape(name)}|(?<![\w.])(?:\w+\.)?{_last(name)}" for name in types)
    return rf"(?:{'|'.join(spelt)})\b"


def _may_be(text: str, name: str, spelt: str) -> bool:
    """Whether a name, or an attribute of that name, is given one of these types, or is said to be one."""
    return re.search(rf"\b{_last(name)}\s*(?::[^\n=,]*{spelt}|=[^\n]*{spelt}\()", text) is not None
