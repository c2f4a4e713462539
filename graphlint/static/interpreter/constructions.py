"""A class in, the objects that the call sites of its constructor hand to it out.

A record that is only promised, `submodules: MoESubmodules`, tells of the classes in it only where one is made:
`MoESubmodules(experts=ModuleSpec(module=GroupedMLP))`. What else is in records is not asked for, since the values of a
few call sites say little of numbers and tensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Mode
from graphlint.static.domain.program import Bound, Class, Function, Instance, Partial
from graphlint.static.index.module import ClassDefinition, Definition, nested_class
from graphlint.static.index.parts import called, segments_with
from graphlint.static.models.inputs import functions
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import assignments_in, walk
from graphlint.values import NONE, UNKNOWN, Arguments, ExternalObject, Sequence, Unknown, Value, members, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_SITES = 12  # places where a class is made that are looked at; what is made at more holds much of the same
BUDGET = 1000  # contexts that the call sites of one class may take
_FOR_CODE = re.compile(r"\b(?:Callable|Type|type)\b")
WITH_CODE = (Bound, Class, ExternalObject, Function, Instance, Partial)


class Constructions:
    """Knows which objects constructors are given, once a region asks for an attribute that nothing else tells of."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.seen: dict[ClassDefinition, dict[Arguments, None]] = {}
        self.made: dict[ClassDefinition, Instance | None] = {}
        self.records: dict[ClassDefinition, dict[str, Value]] = {}
        self.for_code: dict[tuple[ClassDefinition, str], bool] = {}

    def note(self, cls: ClassDefinition, arguments: Arguments) -> None:
        """Remember what an object is made with."""
        self.seen.setdefault(cls, {})[arguments] = None

    def told(self, cls: ClassDefinition, name: str, known: Value) -> Value:
        """What an attribute holds: what is known of it, or what call sites hand over, if that says nothing."""
        if not self._says_nothing(known):
            return known
        found = self.interpreter.classes.method(cls, "__init__") or UNKNOWN
        constructors = [function for function, _ in functions(found)]
        if not any(_kept_in(name, constructor.code) for constructor in constructors):
            return known
        if cls not in self.made:
            self.made[cls] = None  # while call sites are run
            self._run_sites(cls)
            given = tuple(pair for constructor in constructors for pair in self._given(cls, constructor))
            arguments = Arguments((), given, UNKNOWN, UNKNOWN)
            self.made[cls] = self.interpreter.heap.instance(cls, arguments, False) if given else None
        made = self.made[cls]
        return known if made is None else self.interpreter.heap.attributes(made).get(name, known)

    def chosen(self, cls: ClassDefinition, name: str, known: Value | None) -> Value | None:
        """What an object that is only promised holds: what its class says, or the classes that subclasses name for a
        member that is left to them, or that call sites give a record.
        """
        if known in (None, NONE, UNKNOWN):
            below = self.interpreter.classes.chosen_below(cls, name)
            if below is not None:
                return below
        if (cls, name) not in self.for_code:
            self.for_code[cls, name] = self._is_for_code(cls, name)
        if not self.for_code[cls, name]:
            return known
        if cls not in self.records:
            self.records[cls] = {}  # while call sites are run
            self._run_sites(cls)
            self.records[cls] = self._recorded(cls)
        given = self.records[cls].get(name)
        if given is None:
            return known
        default = (one for one in members(known) if isinstance(one, WITH_CODE)) if known is not None else ()
        return union((*(one for one in default if not _is_promised(one)), given))

    def _is_for_code(self, cls: ClassDefinition, name: str, is_spec: bool = False) -> bool:
        """Whether a field of a record is for a class or a function by its annotation, or for a record of such."""
        classes = self.interpreter.classes
        if classes.method(cls, "__init__") is not None:
            return False
        owner = next((one for one in self._fields(cls) if name in one.annotations), None)
        if owner is None:
            return False
        if _FOR_CODE.search(owner.annotations[name]):
            return True
        promised = members(self.interpreter.annotations.quoted(owner.annotations[name], owner.module))
        specs = [one.cls for one in promised if isinstance(one, Instance) and not is_spec]
        return any(
            self._is_for_code(one, field, is_spec=True) and classes.field_default(one, field) is None
            for one in specs
            for base in self._fields(one)
            for field in base.annotations
        )

    def _fields(self, cls: ClassDefinition) -> list[ClassDefinition]:
        """A class and its bases, which say what fields it has."""
        return [base for base in self.interpreter.classes.order(cls) if isinstance(base, ClassDefinition)]

    def _recorded(self, cls: ClassDefinition) -> dict[str, Value]:
        """What call sites give the fields of a record that has code of its own."""
        names = dict.fromkeys(name for base in reversed(self._fields(cls)) for name in base.annotations)
        found: dict[str, list[Value]] = {}
        for arguments in self.seen.get(cls, ()):
            for name, value in (*zip(names, arguments.positional, strict=False), *arguments.keywords):
                held = _objects(value)
                found.setdefault(name, []).extend(() if held == NONE else [held])
        return {name: union(values) for name, values in found.items() if values}

    def _given(self, cls: ClassDefinition, constructor: Function) -> Iterator[tuple[str, Value]]:
        """The objects that call sites hand to a constructor, under the parameters that say nothing of them."""
        signatures = self.interpreter.signatures
        bound = [
            signatures.bind(constructor, arguments.prepend(UNKNOWN))
            for arguments in self.seen.get(cls, ())
            if arguments.star is None
        ]
        for parameter in _named_parameters(constructor.code):
            if self._says_nothing(signatures.refine(UNKNOWN, parameter, constructor)):
                held = [_objects(env[parameter.name]) for env in bound]
                values = [value for value in held if value != NONE]
                if values:
                    yield parameter.name, union(values)

    def _says_nothing(self, value: Value) -> bool:
        """Whether a value leaves open what is called: it is not known, or one of torch's base class."""
        base, containers = self.interpreter.lexicon.modules["base"], self.interpreter.lexicon.containers
        kinds = [member for member in members(value) if member != NONE]
        return all(
            isinstance(m, Unknown)
            or (isinstance(m, ExternalObject) and (m.cls in base or m.cls in containers) and not m.arguments)
            or (isinstance(m, Sequence) and (self._says_nothing(m.any_element) or _is_open(m.any_element)))
            for m in kinds
        )

    def _run_sites(self, cls: ClassDefinition) -> None:
        """Run the functions and the statements that make objects of a class."""
        with self.interpreter.aside(BUDGET):
            for definition in islice(self._sites(cls), MAX_SITES):
                if definition is not None:
                    self.run(definition)

    def run(self, definition: Definition) -> None:
        """Run a function or a method, before a region, as its signature promises."""
        interpreter, module = self.interpreter, definition.module
        *path, _ = definition.qualname.split(".")
        owner = nested_class(module.index.classes, path)
        value = interpreter.names.definition(definition, owner)
        if owner is not None:
            frame = interpreter.names.module_frame(module, definition.segment.first)
            receiver = interpreter.heap.instance(owner, None, False)
            value = union(interpreter.attributes.bind(member, receiver, frame) for member in members(value))
        for function, bound_to in functions(value):
            interpreter.calls.run_promised(function, bound_to, Mode.OUTSIDE)

    def _sites(self, cls: ClassDefinition) -> Iterator[Definition | None]:
        """The functions that may make objects of a class; None for each statement at the top level that may."""
        for module in self.interpreter.project.calling(cls.name):
            for definition, _ in segments_with(module, cls.name, called):
                yield definition


def _is_promised(value: Value) -> bool:
    """Whether nobody was seen to make an object: an annotation speaks of it."""
    return isinstance(value, Instance) and value.arguments is None


def _named_parameters(constructor: ir.Code) -> list[ir.Parameter]:
    """Those that take one argument each, without the object itself."""
    return [parameter for parameter in constructor.parameters[1:] if parameter.kind in ("positional", "keyword")]


@remembered
def _kept_in(name: str, constructor: ir.Code) -> bool:
    """Whether a constructor makes an attribute of its parameters, and not of attributes of these alone."""
    given = {parameter.name for parameter in _named_parameters(constructor)}
    return any(
        any(isinstance(target, ir.Attribute) and target.attr == name for target in walk(part.targets))
        and not given.isdisjoint(_themselves(part.value))
        for part in assignments_in(constructor)
    )


def _themselves(node: object) -> set[str]:
    """The names that stand in a node for what they hold, and not for an attribute of it."""
    parts = list(walk(node))
    owners = [part.value for part in parts if isinstance(part, ir.Attribute)]
    return {part.id for part in parts if isinstance(part, ir.Name) and part not in owners}


def _is_open(element: Value) -> bool:
    """Whether elements may be anything, and those that are known have no code of their own."""
    kinds = list(members(element))
    return any(isinstance(m, Unknown) for m in kinds) and not any(isinstance(m, WITH_CODE) for m in kinds)


def _objects(value: Value) -> Value:
    """What a value can be that is an object with code of its own; None if there is nothing of the kind."""
    found = [
        member
        for member in members(value)
        if isinstance(member, WITH_CODE)
        or (isinstance(member, Sequence) and any(isinstance(m, WITH_CODE) for m in members(member.any_element)))
    ]
    return union(found) if found else NONE
