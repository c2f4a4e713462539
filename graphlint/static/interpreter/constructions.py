"""A class in, the objects that the call sites of its constructor hand to it out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Mode
from graphlint.static.domain.program import Bound, Class, Function, Instance, Partial
from graphlint.static.index.module import ClassDefinition, Definition, nested_class
from graphlint.static.index.parts import Part, called, parts_with
from graphlint.static.models.inputs import functions
from graphlint.values import NONE, UNKNOWN, Arguments, ExternalObject, Sequence, Unknown, Value, members, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_SITES = 12  # a class that is made at more places is a building block, and its parts are as different as its uses
_OBJECTS = (Bound, Class, ExternalObject, Function, Instance, Partial)


class Constructions:
    """Knows which objects constructors are given."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.seen: dict[ClassDefinition, dict[Arguments, None]] = {}

    def note(self, cls: ClassDefinition, arguments: Arguments) -> None:
        """Remember what an object is made with."""
        self.seen.setdefault(cls, {})[arguments] = None

    def given(self, cls: ClassDefinition, constructor: Function) -> tuple[tuple[str, Value], ...]:
        """The objects that call sites hand to a constructor, under the parameters that say nothing of them."""
        signatures = self.interpreter.signatures
        open_parameters = [
            parameter
            for parameter in constructor.code.parameters[1:]
            if parameter.kind in ("positional", "keyword")
            and self._says_nothing(signatures.refine(UNKNOWN, parameter, constructor))
        ]
        if not open_parameters:
            return ()
        self._run_sites(cls)
        bound = [
            signatures.bind(constructor, arguments.prepend(UNKNOWN))
            for arguments in self.seen.get(cls, ())
            if arguments.star is None
        ]
        found = {p.name: [_objects(env[p.name]) for env in bound] for p in open_parameters}
        return tuple(
            (name, union(values)) for name, held in found.items() if (values := [v for v in held if v != NONE])
        )

    def _says_nothing(self, promised: Value) -> bool:
        """Whether an annotation leaves open what is called: it is missing, or it names torch's base class."""
        base = self.interpreter.lexicon.modules["base"]
        kinds = [member for member in members(promised) if member != NONE]
        return all(isinstance(m, Unknown) or (isinstance(m, ExternalObject) and m.cls in base) for m in kinds)

    def _run_sites(self, cls: ClassDefinition) -> None:
        """Run the functions and the statements that make objects of a class."""
        sites = list(islice(self._sites(cls), MAX_SITES + 1))
        if len(sites) > MAX_SITES:
            return
        for part in sites:
            if part.definition is not None:
                self._run(part.definition)

    def _run(self, definition: Definition) -> None:
        """Run a function or a method, before a region, as its signature promises."""
        interpreter, module = self.interpreter, definition.module
        *path, _ = definition.qualname.split(".")
        owner = nested_class(module.index.classes, path)
        value = interpreter.names.definition(definition, owner)
        if owner is not None:
            frame = interpreter.names.module_frame(module, definition.segment.first)
            receiver = interpreter.heap.instance(owner, None, False)
            value = union(interpreter.heap.bind(member, receiver, frame) for member in members(value))
        for function, bound_to in functions(value):
            interpreter.calls.run_promised(function, bound_to, Mode.OUTSIDE)

    def _sites(self, cls: ClassDefinition) -> Iterator[Part]:
        for module in self.interpreter.project.calling(cls.name):
            yield from parts_with(module, cls.name, called)


def _objects(value: Value) -> Value:
    """What a value can be that is an object with code of its own; None if there is nothing of the kind."""
    found = [
        member
        for member in members(value)
        if isinstance(member, _OBJECTS)
        or (isinstance(member, Sequence) and any(isinstance(m, _OBJECTS) for m in members(member.any_element)))
    ]
    return union(found) if found else NONE
