"""Which programs are rehearsed: files as scripts, and what captures, used as a stranger would use it.

A class is constructed and its methods are called in the order in which users need them: what captures, if its
constructor does not, then each method that replays, twice. One that captures and is private is called as well by what
leads to it, which asks its conditions. A function that captures is called with unknown arguments, and again if its
graph stays in a global; what it returns is called twice if it is a function. At last, public methods that nothing else
calls are called between two replays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from graphlint.finding import Region
from graphlint.reading.questions import HoldsAny, HoldsPair
from graphlint.static.domain.program import function_of
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.changing import Changing
from graphlint.static.life.frames import Leave, Raised
from graphlint.static.life.held import calls_held, holders_of
from graphlint.static.life.hooks import Hooks, classes_of, is_hook
from graphlint.static.life.machine import Machine
from graphlint.static.life.methods import CALLED, calls_of, entrance_of, is_abstract, leads_to, setters_of, switches_of
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    Object,
    Place,
    Tensor,
    Thing,
    things_in,
)
from graphlint.static.life.opened import (
    entrances_to,
    holds,
    methods_calling,
    names_opened,
    openers_in,
    speaks_of,
)
from graphlint.static.life.questions import spelt
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

_PAIR = HoldsPair("capture", "replay")
MAX_METHODS = 8  # of a class that replay, or that change it
MAX_USERS = 20  # of what opens regions
MIN_NAME = 5  # letters that make a name telling
MAX_CALLS = 5  # of a method that captures once it has warmed up
MAX_COUNTED = 13  # of one that counts them: eleven warm up for what reduces gradients
NODE = ir.Literal(ir.NOWHERE, None)


class Program(NamedTuple):
    """A program, and what it is about: those about one subject begin in the same way, and share most of what they run.

    That is a file, a function, or a class, alone or with one of its methods.
    """

    subject: object
    run: partial[None]  # which is given the machine
    player: ClassDefinition | None = None  # whose methods are called back on what nobody knows


@dataclass
class Programs:
    """The programs around the regions of a project."""

    interpreter: Interpreter
    files: list[Path]
    places: Mapping[str, Set[int]]  # the lines of files on which regions are opened
    replays: frozenset[str] = field(init=False)
    launching: frozenset[str] = field(init=False)  # names of functions that launch a graph they are given
    prepares: re.Pattern[str] = field(init=False)
    hooks: Hooks = field(init=False)
    compiling: frozenset[str] = field(init=False)  # names of functions that compile what may replay graphs
    helpers: set[str] = field(default_factory=set)  # names of what opens regions
    called: dict[ClassDefinition, str] = field(default_factory=dict)  # a method that replays, of what captures
    replaying: set[str] = field(default_factory=set)  # names of methods that replay, of what opens regions
    ran: dict[ClassDefinition, bool] = field(default_factory=dict)  # whether a run came to a replay, of those it did

    def __post_init__(self) -> None:
        self.replays = self.interpreter.lexicon.life["replays"]
        launches = self.interpreter.lexicon.life["launches"]
        self.launching = frozenset(name.rpartition(".")[2] for name in launches)
        self.prepares = self.interpreter.lexicon.host_state["prepares"]
        self.hooks = Hooks(self.interpreter, self.files)
        entries = self.interpreter.entries.by_name.items()
        self.compiling = frozenset(name.rpartition(".")[2] for name, entry in entries if entry.form == "compile")

    def around(self) -> Iterator[Program]:
        """The programs that open the regions."""
        places = self.places
        for path in sorted(places):
            module = self.interpreter.project.module_at(Path(path))
            if any(_calls(module.lowered(segment)) for segment in module.index.statements):
                yield Program(module, partial(script, module=module))
            openers = [one for one in module.index.own_functions() if holds(one.segment, places[path])]
            self.helpers.update(one.name for one in openers)
            users = entrances_to(module, names_opened(module, places[path]))
            for definition in dict.fromkeys((*openers, *users)):
                yield Program(definition, partial(of_function, definition=definition))
            for owner in classes_of(module):
                if holds(owner.segment, places[path]):
                    self.helpers.add(owner.name)
                    yield from self._of_class(owner, methods_calling(owner, places[path], self.compiling))
                    for one in self._replaying_subclasses(owner):
                        yield from self._of_class(one)
        yield from self._users()

    def _of_class(self, owner: ClassDefinition, calling: Sequence[str] = ()) -> Iterator[Program]:
        replaying = [name for name in owner.methods if name != "__init__" and self._replays(owner, name)]
        replaying = replaying or [name for name, base in self._inherited(owner).items() if self._replays(base, name)]
        called = [*dict.fromkeys((*replaying, *calling))][:MAX_METHODS]
        called = called or [name for name in CALLED if name in owner.methods][:1]
        if not called and owner.name not in self.helpers:
            called = [name for name in owner.methods if name != "__init__" and self._captures(owner, name)][:1]
        if called:
            self.called.setdefault(owner, called[0])
            self.replaying.update(replaying if owner.name in self.helpers else ())
        players = (None, *self.hooks.players(owner))
        for name in called or [""]:
            run = partial(self.of_class, owner=owner, name=name)
            for player in players:
                yield Program(owner, run, player)
        inner = (name for name in owner.methods if self._captures(owner, name))
        for name in dict.fromkeys(entrance_of(owner, one) for one in inner if entrance_of(owner, one) != one):
            yield Program(owner, partial(self.of_entrance, owner=owner, name=name))

    def _inherited(self, owner: ClassDefinition) -> dict[str, ClassDefinition]:
        """The methods that a class has from others of the project, each with the class that defines it."""
        bases = [one for one in self.interpreter.classes.order(owner)[1:] if isinstance(one, ClassDefinition)]
        found = {name: base for base in reversed(bases) for name in base.methods}
        return {name: base for name, base in found.items() if name not in owner.methods and name != "__init__"}

    def _replaying_subclasses(self, owner: ClassDefinition) -> Iterator[ClassDefinition]:
        """The classes that replay what a class captures which never does so itself, or that say how it captures."""
        is_replaying = any(self._replays(owner, name) for name in owner.methods)
        left = {name for name in owner.methods if is_abstract(owner, name)}
        for one in self.interpreter.classes.subclasses(owner)[:MAX_METHODS]:
            is_opener = holds(one.segment, self.places.get(str(one.module.path), frozenset()))
            own = [name for name in one.methods if name != "__init__" and not is_replaying]
            if not is_opener and (not left.isdisjoint(one.methods) or any(self._replays(one, name) for name in own)):
                yield one

    def _users(self) -> Iterator[Program]:
        """The programs that use what opens regions, here or in other files."""
        names = {name for name in self.helpers if len(name) >= MIN_NAME}
        if not names:
            return
        number = 0
        for path in self.interpreter.project.answering(HoldsAny(sorted(names))):
            if number >= MAX_USERS:
                return
            module = self.interpreter.project.module_at(path)
            known = names & {*module.index.imports, *openers_in(module, self.places.get(str(path), frozenset()))}
            if not known:
                continue
            for owner in classes_of(module):
                if owner.name not in self.helpers and self._mentions(owner, known):
                    number += 1
                    yield from self._of_class(owner)
            for definition in module.index.own_functions():
                if definition.name not in self.helpers and speaks_of(definition, known):
                    number += 1
                    yield Program(definition, partial(of_function, definition=definition))

    def _mentions(self, owner: ClassDefinition, names: set[str]) -> bool:
        return any(speaks_of(one, names) for definitions in owner.methods.values() for one in definitions)

    def changes(self) -> Iterator[Program]:
        """What replays, and in between a method that nothing else comes to: of those that `around` has come to."""
        changing = Changing(self.interpreter)
        for owner, name in self.called.items():
            if not self.ran.get(owner, True):
                continue
            capturing = [one for one in owner.methods if self._captures(owner, one)]
            setting = [other for one in (name, *capturing) for other, _ in setters_of(owner, one)]
            changes = [*changing.of(owner, ("__init__", name, *capturing), {*capturing} - {"__init__"})]
            changes = [one for one in changes if one not in setting]  # which comes before
            for change in changes[:MAX_METHODS]:
                yield Program((owner, change), partial(self.of_class, owner=owner, name=name, change=change))

    def pairs(self) -> Iterator[Program]:
        """The classes with a method for the capture and one of that name for replays, which prepare the same inputs."""
        for path in self.files:
            if not self.interpreter.project.ask(path, _PAIR):
                continue
            for owner in classes_of(self.interpreter.project.module_at(path)):
                for name in owner.methods:
                    other = name.replace("capture", "replay")
                    if other != name and other in owner.methods:
                        yield Program((owner, name), partial(self.of_pair, owner=owner, names=(name, other)))

    def of_pair(self, machine: Machine, owner: ClassDefinition, names: tuple[str, str]) -> None:
        """Prepare for a capture, take what the object holds then for the inputs of a graph, and prepare for replays."""
        frame = machine.outer_frame(owner.module, owner.line)
        made = constructed(machine, owner, frame)
        if made is None:
            return
        for name in owner.methods:
            if name not in names and is_hook(self.interpreter, name) and self.prepares.match(name):
                self._call(machine, made, name, frame)
        self._call(machine, made, names[0], frame)
        method = machine.of_class(owner, names[0], made, frame)
        if not isinstance(method, Closure):
            return
        place = Place(method.function, method.function.code)
        region = Region(names[0], place.path, place.line)
        capture = Capture(Thing(), region, place, machine.ledger.now, manager=made)
        for thing in things_in(made):
            held = thing.keyed.values() if isinstance(thing, Container) else thing.attributes.items()
            for name, value in held:
                if isinstance(value, Tensor):
                    capture.paths[thing, spelt(name)] = value
                    capture.reads.setdefault(value.root, value.made or place)
        machine.ledger.begin(capture)
        machine.ledger.end()
        for _ in range(2):
            self._call(machine, made, names[1], frame)
            machine.ledger.replay(capture.graph, place)

    def of_class(self, machine: Machine, owner: ClassDefinition, name: str, change: str = "") -> None:
        """Construct an object, capture, and call a method that replays twice; what has to be enabled is.

        With a `change` that is called in between, once more.
        """
        frame = machine.outer_frame(owner.module, owner.line)
        made = constructed(machine, owner, frame)
        if made is None:
            return
        self._prepare(machine, made, name, frame)
        methods = {**dict.fromkeys(owner.methods, owner), **self._inherited(owner)}
        leading = _leading(methods, name)
        leads = any(self._captures(base, one) for one, base in leading.items() if one != name)
        for _ in range(2 if leads else 0):  # it captures what its own request brings
            self._call(machine, made, name, frame)
        for capturing, base in methods.items():
            is_needed = capturing not in ("__init__", name) and not machine.ledger.captures
            if is_needed and self._captures(base, capturing):
                self._call(machine, made, capturing, frame)
        for other, flag in switches_of(owner, name) if name else ():
            if made.attributes.get(flag) is False and not machine.ledger.captures:
                self._call(machine, made, other, frame)
        if name:
            again(machine, lambda: self._call(machine, made, name, frame), made)
        self.ran[owner] = self.ran.get(owner, False) or any(one.replays for one in machine.ledger.captures)
        if change and machine.ledger.captures:
            held = (one for one in made.attributes.values() if isinstance(one, Instance) and change in one.cls.methods)
            for one in [made] if change in owner.methods else [*held]:
                self._call(machine, one, change, machine.outer_frame(one.cls.module, one.cls.line))
            self._call(machine, made, name, frame)

    def _prepare(self, machine: Machine, made: Instance, name: str, frame: Frame) -> None:
        """Call what sets the attributes that are there when somebody captures, or calls this method, as those say."""
        owner = made.cls
        needing = [one for one in owner.methods if one == name or (one != "__init__" and self._captures(owner, one))]
        for other, attribute in dict.fromkeys(pair for one in needing for pair in setters_of(owner, one)):
            if other not in needing and attribute in made.attributes and made.attributes[attribute] is None:
                self._call(machine, made, other, frame)

    def of_entrance(self, machine: Machine, owner: ClassDefinition, name: str) -> None:
        """Construct an object, and call a method as often as it takes until there is a graph, and twice with that."""
        frame = machine.outer_frame(owner.module, owner.line)
        made = constructed(machine, owner, frame)
        if made is not None:
            self._prepare(machine, made, name, frame)
            again(machine, lambda: self._call(machine, made, name, frame), made)

    def _captures(self, owner: ClassDefinition, name: str) -> bool:
        """Whether a method opens a region, itself or by what does."""
        if owner.name not in self.helpers and any(speaks_of(one, self.helpers) for one in owner.methods[name]):
            return True
        lines = self.places.get(str(owner.module.path), frozenset())
        return any(holds(one.segment, lines) for one in owner.methods[name])

    def _replays(self, owner: ClassDefinition, name: str) -> bool:
        """Whether a method replays a graph, itself or by another method of its class."""
        calls = [call for one in leads_to(owner, name) for call in calls_of(owner, one)]
        methods = [(one.func, one.arguments) for one in calls if isinstance(one.func, ir.Attribute)]
        if any(func.attr in self.replays and not given for func, given in methods):
            return True
        if any(func.attr in self.launching for func, given in methods if given):
            return True
        if owner.name in self.helpers or not self.replaying:
            return False
        holders = holders_of(owner, frozenset(self.helpers))
        called = {one for other in leads_to(owner, name) for one in calls_held(owner.methods[other][-1], holders)}
        called |= {func.attr for func, _ in methods if isinstance(func.value, ir.Attribute)}  # of whatever it holds
        return not called.isdisjoint(self.replaying)

    def _call(self, machine: Machine, made: Instance, name: str, frame: Frame) -> None:
        method = machine.of_class(made.cls, name, made, frame)
        if isinstance(method, Closure):
            given = machine.unknown_arguments(method.function, skip=1 if method.is_bound else 0)
            machine.ledger.is_forced = entrance_of(made.cls, name) != name
            call_freely(machine, method, given, frame)
            machine.ledger.is_forced = False


def _leading(methods: Mapping[str, ClassDefinition], name: str) -> dict[str, ClassDefinition]:
    """The methods that one of an object leads to, itself first, wherever each of them is defined."""
    found: dict[str, ClassDefinition] = {}
    pending = [name] if name in methods else []
    while pending:
        base = methods[pending[0]]
        own = leads_to(base, pending.pop(0))
        found |= {one: methods[one] for one in own if one in methods}
        called = {call.func.attr for one in own for call in calls_of(base, one) if isinstance(call.func, ir.Attribute)}
        pending += sorted(one for one in called & methods.keys() if methods[one] is not base and one not in found)
    return found


def constructed(machine: Machine, owner: ClassDefinition, frame: Frame) -> Instance | None:
    """An object of a class, made with arguments of which nothing is known."""
    method = machine.of_class(owner, "__init__", None, machine.outer_frame(owner.module, owner.line))
    given = machine.unknown_arguments(method.function, skip=1) if isinstance(method, Closure) else Arguments()
    machine.is_making = True
    made = machine.call(ClassRef(owner), given, NODE, frame)
    machine.is_making, machine.has_begun = False, True
    return made if isinstance(made, Instance) else None


def _calls(block: ir.Block) -> bool:
    return any(isinstance(part, ir.Call) for part in walk(block))


def script(machine: Machine, module: Module) -> None:
    """Run the statements at the top level of a file."""
    frame = machine.outer_frame(module, 1)
    frame.env["__name__"] = "__main__"
    with machine.ledger.activation(frame):
        segments = {(segment.first, segment.last): segment for segment in module.index.statements}
        for segment in segments.values():  # several statements on a line are one
            frame.function = replace(frame.function, first_line=segment.first)
            machine.block(module.lowered(segment), frame)


def of_function(machine: Machine, definition: Definition) -> None:
    """Call a function with arguments of which nothing is known, and what it returns."""
    function = function_of(definition)
    if function is None:
        return
    frame = machine.outer_frame(definition.module, definition.line)
    given = machine.unknown_arguments(function, is_flagged=True)  # a flag may be what turns graphs on
    result = call_freely(machine, Closure(function), given, frame)
    kept = {one for known in machine.modules.values() for value in known.values() for one in things_in(value)}
    if any(one in kept for one in machine.ledger.latest):  # the graph stays for the next call
        for _ in range(2):
            call_freely(machine, Closure(function), machine.unknown_arguments(function), frame)
    if isinstance(result, Closure):
        again(machine, lambda: call_freely(machine, result, machine.unknown_arguments(result.function), frame))


def again(machine: Machine, call: Callable[[], object], made: Instance | None = None) -> None:
    """Call something twice, and as often before as it takes until there is a graph, longer if its object counts."""
    counts: list[dict[str, int]] = []
    for number in range(MAX_COUNTED):
        counts.append(_counts(made))
        if machine.ledger.captures or (number >= MAX_CALLS - 2 and counts[-1] == counts[-2]):
            break
        call()
    for _ in range(2):
        call()


def _counts(made: Instance | None) -> dict[str, int]:
    """The whole numbers that an object holds."""
    held = made.attributes.items() if made is not None else ()
    return {name: value for name, value in held if type(value) is int}


def call_freely(machine: Machine, closure: Closure, given: Arguments, frame: Frame) -> Object:
    """Call a function from outside of the program, and go through what it yields; an exception ends it."""
    try:
        result = machine.run(closure, given, NODE, frame)
        if closure.function.code.is_generator:
            machine.iterate(result, frame, NODE, lambda value: None)
        return result
    except Leave as left:
        machine.is_refused |= isinstance(left, Raised)
        return None
