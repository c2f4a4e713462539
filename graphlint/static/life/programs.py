"""Which programs are rehearsed: files that run as scripts, and classes and functions that capture, used as a stranger would.

A class is constructed and its methods are called in the order in which users need them: what captures, if its
constructor does not, then each method that replays, twice. A function that captures is called with unknown arguments,
and what it returns is called twice if it is a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.frames import MAX_RUNS, Decisions, Frame, Leave, Stopped
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.machine import Machine
from graphlint.static.life.objects import Arguments, ClassRef, Closure, Instance, Object, Thing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from dataclasses import replace

Program = Callable[[Machine], None]
MAX_METHODS = 8  # of a class that replay
_NODE = ir.Literal(ir.NOWHERE, None)


@dataclass
class Programs:
    """The programs around the regions of a project."""

    interpreter: Interpreter
    replays: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.replays = self.interpreter.lexicon.life["replays"]

    def around(self, places: set[tuple[str, int]]) -> Iterator[Program]:
        """The programs that open the regions at these places."""
        project = self.interpreter.project
        for path in sorted({path for path, _ in places}):
            module = next((m for m in project.by_path.values() if str(m.path) == path), None)
            if module is None:
                continue
            lines = {line for where, line in places if where == path}
            if any(self._calls(module.lowered(segment)) for segment in module.index.statements):
                yield lambda machine, module=module: script(machine, module)
            for definition, owner in _definitions(module):
                if any(definition.segment.first <= line <= definition.segment.last for line in lines):
                    if owner is None:
                        yield lambda machine, definition=definition: of_function(machine, definition)
            for owner in _classes(module):
                if any(owner.segment.first <= line <= owner.segment.last for line in lines):
                    yield lambda machine, owner=owner: self.of_class(machine, owner)

    def _calls(self, block: ir.Block) -> bool:
        return any(isinstance(part, ir.Call) for part in walk(block))

    def of_class(self, machine: Machine, owner: ClassDefinition) -> None:
        """Construct an object and call its methods."""
        frame = outer_frame(machine, owner.module, owner.line)
        try:
            made = machine.call(ClassRef(owner), self._unknown_arguments(machine, owner), _NODE, frame)
        except Leave:
            return
        if not isinstance(made, Instance):
            return
        names = [name for name in self._methods(machine, owner) if name != "__init__"]
        if not machine.ledger.captures:
            for name in names:
                if self._captures(machine, owner, name) and not machine.ledger.captures:
                    self._call(machine, made, name, frame)
        replaying = [name for name in names if self._replays(owner, name)][:MAX_METHODS]
        for name in replaying:
            for _ in range(2):
                self._call(machine, made, name, frame)

    def _unknown_arguments(self, machine: Machine, owner: ClassDefinition) -> Arguments:
        found = machine.interpreter.classes.find(owner, "__init__")
        if found is None or isinstance(found[0], str) or not isinstance(found[1], list):
            return Arguments()
        code = found[1][-1].code
        return unknown_arguments(code, skip=1) if code is not None else Arguments()

    def _methods(self, machine: Machine, owner: ClassDefinition) -> list[str]:
        return [name for name, definitions in owner.methods.items() if definitions]

    def _captures(self, machine: Machine, owner: ClassDefinition, name: str) -> bool:
        """Whether a method opens a region."""
        return any(
            one.segment.first <= line <= one.segment.last and path == str(owner.module.path)
            for one in owner.methods[name]
            for path, line in machine.interpreter.places_of_regions
        )

    def _replays(self, owner: ClassDefinition, name: str) -> bool:
        """Whether a method replays a graph, itself or by another method of its class."""
        seen: set[str] = set()
        pending = [name]
        while pending:
            one = pending.pop()
            if one in seen or one not in owner.methods:
                continue
            seen.add(one)
            code = owner.methods[one][-1].code
            for part in walk(code.body) if code is not None else ():
                if isinstance(part, ir.Call) and isinstance(part.func, ir.Attribute):
                    if part.func.attr in self.replays and not part.arguments:
                        return True
                    if isinstance(part.func.value, ir.Name) and part.func.value.id == "self":
                        pending.append(part.func.attr)
        return False

    def _call(self, machine: Machine, made: Instance, name: str, frame: Frame) -> None:
        method = machine.of_class(made.cls, name, made, frame)
        if isinstance(method, Closure):
            given = unknown_arguments(method.function.code, skip=1 if method.is_bound else 0)
            call_freely(machine, method, given, frame)


def script(machine: Machine, module: Module) -> None:
    """Run the statements at the top level of a file."""
    frame = outer_frame(machine, module, 1)
    frame.env = machine.modules.setdefault(module, {})
    with machine.ledger.activation(frame):
        segments = {(segment.first, segment.last): segment for segment in module.index.statements}
        for segment in segments.values():  # several statements on a line are one
            frame.function = replace(frame.function, first_line=segment.first)
            machine.block(module.lowered(segment), frame)


def of_function(machine: Machine, definition: Definition) -> None:
    """Call a function with arguments of which nothing is known, and what it returns."""
    code = definition.code
    if code is None:
        return
    frame = outer_frame(machine, definition.module, definition.line)
    function = Function(code, definition.module, definition.qualname, definition.segment.first)
    result = call_freely(machine, Closure(function), unknown_arguments(code), frame)
    if isinstance(result, Closure):
        for _ in range(2):
            call_freely(machine, result, unknown_arguments(result.function.code), frame)


def call_freely(machine: Machine, closure: Closure, given: Arguments, frame: Frame) -> Object:
    """Call a function from outside of the program; an exception ends it."""
    try:
        return machine.run(closure, given, _NODE, frame)
    except Leave:
        return None


def unknown_arguments(code: ir.Code, skip: int = 0) -> Arguments:
    """Something unknown for each parameter that has no default."""
    made = Arguments()
    parameters = [p for p in code.parameters if p.kind in ("positional", "keyword")]
    for parameter in parameters[skip:]:
        if parameter.default is None:
            made.keywords[parameter.name] = Thing(argument=parameter.name)
    return made


def outer_frame(machine: Machine, module: Module, line: int) -> Frame:
    """The frame of a file, from which a program starts."""
    return Frame(Function(MODULE_CODE, module, "<module>", line))


def runs(interpreter: Interpreter, program: Program, listen: Callable[[Ledger], None]) -> Iterator[Decisions]:
    """Run a program once for every way through what nobody knows, each time with new objects."""
    plans: list[tuple[bool, ...]] = [()]
    for _ in range(MAX_RUNS):
        if not plans:
            return
        decisions = Decisions(plans.pop())
        ledger = Ledger()
        listen(ledger)
        machine = Machine(interpreter, ledger, decisions)
        try:
            program(machine)
        except (Leave, Stopped, RecursionError):
            pass
        ledger.finish()
        plans += decisions.other_plans()
        yield decisions


def _definitions(module: Module) -> Iterator[tuple[Definition, ClassDefinition | None]]:
    for definitions in module.index.functions.values():
        for definition in definitions:
            yield definition, None


def _classes(module: Module) -> Iterator[ClassDefinition]:
    pending = list(module.index.classes.values())
    while pending:
        one = pending.pop(0)
        yield one
        pending += one.classes.values()

