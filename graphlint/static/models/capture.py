"""Capture entries in, what they do to a frame out: regions opened and closed, callables run as graphs.

What is captured and nobody knows is an unresolved call of what was handed over: it is told, and who hands it over is
asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from graphlint.finding import Region
from graphlint.rulebook.entries import Entries, Entry
from graphlint.static.domain.contexts import Context, Frame, Mode, OpenRegion, dispatched
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Bound, Function, Graphed, Instance, Partial
from graphlint.static.index.defaults import offered
from graphlint.static.models.inputs import ANYTHING, chosen, entry_arguments, entry_functions, functions, on_device
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name
from graphlint.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)

_TAKEN = "taken"  # what a context manager captures the calls of


class Capture:
    """What capture entries do to the frame in which they are used."""

    def __init__(self, evaluator: Evaluator, entries: Entries) -> None:
        self.evaluator = evaluator
        self.entries = entries
        self.awaited: dict[ExternalObject, OpenRegion] = {}
        self.compiled: dict[Function, None] = {}  # without graphs

    def is_manager(self, value: Value) -> bool:
        """Whether a value is a context manager that opens a region."""
        return isinstance(value, ExternalObject) and self.entries.opens_context(value.cls)

    def enter(self, node: ir.Node | None, manager: Value, frame: Frame) -> Value:
        """Enter a context manager: open its region if it has one, and give what `as` binds."""
        before = len(frame.regions)
        some = [member for member in members(manager) if member != NONE]
        asked = node if isinstance(node, ir.Expr) else None
        results = [self._enter(node, member, frame) for member in dispatched(some, asked, frame)]
        if len(results) > 1 and frame.loops:
            for opened in frame.regions[before:]:
                opened.warms_up = True  # in other rounds, the same body runs without a capture
        return union(results) if results else UNKNOWN

    def _enter(self, node: ir.Node | None, manager: Value, frame: Frame) -> Value:
        match manager:
            case ExternalObject():
                return self._enter_external(node, manager, frame)
            case Instance():
                return self._enter_instance(node, manager, frame)
            case DeviceName():
                others = (value for value in frame.around if not isinstance(value, DeviceName))
                frame.around = frozenset({*others, manager})
        return UNKNOWN if isinstance(manager, Unknown) else manager

    def _enter_external(self, node: ir.Node | None, manager: ExternalObject, frame: Frame) -> Value:
        entry = self.entries.find(manager.cls)
        if entry is not None and entry.form == "context" and node is not None:
            region = self.evaluator.open_region(frame, node, entry.kind, _mode(entry), entry.foreign)
            taken = manager.argument(_TAKEN)
            return manager if taken is None else self._await(manager, taken, region, frame)
        switch = self.evaluator.lexicon.surroundings.get(manager.cls)
        if switch is not None and manager.argument(switch) != FALSE:
            frame.around |= {ExternalObject(manager.cls)}
        generator = manager.argument("generator")
        if manager.cls == "contextlib.contextmanager" and generator is not None:
            return self._enter_generator(node, generator, frame)
        return manager

    def _await(self, manager: ExternalObject, taken: Value, region: OpenRegion, frame: Frame) -> Value:
        """A context manager that captures what it takes: its region is open while that is called, and closed else."""
        self.evaluator.close_region(frame)
        place = Const(f"{region.region.path}:{region.region.line}")
        awaiting = ExternalObject(manager.cls, ((_TAKEN, taken), ("place", place)))
        self.awaited[awaiting] = region
        frame.around |= {awaiting}
        return taken

    def awaiting(self, target: Value, frame: Frame) -> OpenRegion | None:
        """The region that captures the calls of a value, here or wherever it is called, if no other is open."""
        if frame.in_region:
            return None
        if isinstance(target, Graphed):
            return self.evaluator.regions.get((target.kind, target.path, target.line, None))
        for manager, region in self.awaited.items():
            if manager in frame.around and target in members(manager.argument(_TAKEN) or NONE):
                return region
        return None

    def _enter_instance(self, node: ir.Node | None, manager: Instance, frame: Frame) -> Value:
        for base in self.evaluator.external_bases(manager.cls):
            entry = self.entries.find(base)
            if entry is not None and entry.form == "context" and node is not None:
                self.evaluator.open_region(frame, node, entry.kind, _mode(entry), entry.foreign)
                return manager
        before = len(frame.regions)
        entered = self.evaluator.call_method(manager, "__enter__", Arguments(), _call(node), frame)
        opened = frame.regions[before:]
        del frame.regions[before:]
        self._reopen(node, opened, frame)
        for function, _ in functions(self.evaluator.class_method(manager.cls, "__enter__") or UNKNOWN):
            frame.around |= self.evaluator.opened_by(function)
        return entered

    def _enter_generator(self, node: ir.Node | None, generator: Value, frame: Frame) -> Value:
        """A helper made with `contextlib.contextmanager`: what is open where it yields is open in the body."""
        assert isinstance(generator, Partial)
        arguments = Arguments(generator.arguments, generator.keywords)
        results = []
        for function, receiver in functions(generator.function):
            given = arguments if receiver is None else arguments.prepend(receiver)
            context = self.evaluator.summary(function, given, _call(node), frame)
            self._reopen(node, context.open_at_yield, frame)
            frame.around |= self.evaluator.opened_by(function) | context.flags_at_yield
            results.append(self.evaluator.element(context.result))
        return union(results) if results else UNKNOWN

    def _reopen(self, node: ir.Node | None, opened: list[OpenRegion], frame: Frame) -> None:
        """The region of a helper begins, for its user, where the helper is used."""
        for region in opened[:1]:
            if node is not None:
                self.evaluator.open_region(frame, node, region.region.kind, region.mode, region.foreign)

    def call(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """A call by qualified name; None if it has nothing to do with regions."""
        entry = self.entries.find(name)
        if entry is None or node is None:
            return None
        if entry.form == "context":
            return ExternalObject(name, self._taken(entry, arguments, node, frame))
        if entry.form == "decorator":
            return arguments.positional[0] if arguments.positional else UNKNOWN
        if entry.form == "begin":
            self.evaluator.open_region(frame, node, entry.kind, _mode(entry), entry.foreign)
            return UNKNOWN
        if entry.form == "end":
            self.evaluator.close_region(frame)
            return UNKNOWN
        if entry.form == "compile":
            return self._compile(entry, name, arguments, node, frame)
        return self._capture_callables(entry, arguments, node, frame)

    def _taken(self, entry: Entry, arguments: Arguments, node: ir.Call, frame: Frame) -> tuple[tuple[str, Value], ...]:
        """The callable that a context manager captures, if it takes one; what nobody knows is some module from here."""
        taken = _given(arguments, 0, entry.takes) if entry.takes else None
        if taken == UNKNOWN:
            taken = union(ExternalObject(base) for base in self.evaluator.lexicon.modules["base"])
            for argument in node.arguments:
                if not argument.star and argument.keyword in (None, *entry.takes):
                    self.evaluator.put_back(argument.value, taken, frame)
        return ((_TAKEN, taken),) if taken is not None else ()

    def call_method(
        self,
        name: str,
        receiver: Value,
        arguments: Arguments,
        node: ir.Call | None,
        frame: Frame,
    ) -> Value | None:
        """A call of a method; its last name may be enough."""
        cls, _, last = name.rpartition(".")
        owners = self.evaluator.lexicon.owners(cls)
        entry = self.entries.find_method(owners, last) or self.entries.by_last_name.get(last)
        if entry is None and last in ("__enter__", "__exit__"):
            return self._by_hand(last, receiver, node, frame)
        if entry is None or node is None:
            return None
        if entry.form == "compile":
            return self._compile(entry, name, arguments.prepend(receiver), node, frame)
        return self.call(entry.names[0], arguments, node, frame)

    def declare(self, function: Function, node: ir.Expr, frame: Frame) -> None:
        """Run a function inside of another one as a declared region."""
        path, line = frame.context.path, function.first_line + function.code.pos[0]
        entry = f"{function.module.name}:{function.qualname}"
        region = OpenRegion(Region("declared", path, line, entry), Context(entry, path), Mode.CAPTURE)
        self.evaluator.regions[("declared", path, line, entry)] = region
        frame.regions.append(region)
        self.run_entry(function, _call(node), frame)
        frame.regions.pop()

    def _by_hand(self, name: str, receiver: Value, node: ir.Call | None, frame: Frame) -> Value | None:
        """A context manager that is entered and left by calls of its methods."""
        if not self.is_manager(receiver):
            return None
        if name == "__enter__":
            return self._enter(node, receiver, frame)
        self.evaluator.close_region(frame)
        return NONE

    def _capture_callables(self, entry: Entry, arguments: Arguments, node: ir.Call, frame: Frame) -> Value:
        """Run the callables with the sample arguments inside a region."""
        callables = _given(arguments, 0, entry.takes)
        if callables is None:
            return UNKNOWN
        samples = _given(arguments, 1, entry.samples) if entry.samples else None
        targets: list[Value] = [callables]
        several = isinstance(callables, Sequence) and callables.kind in ("tuple", "list")
        if isinstance(callables, Sequence) and several:
            targets = [callables.element] if callables.elements is None else list(callables.elements)
        opened = self.evaluator.open_region(frame, node, entry.kind, _mode(entry), entry.foreign)
        opened.warms_up = True
        called = _call_of_taken(entry, node)
        if UNKNOWN in members(callables) and not samples:
            self.evaluator.unresolved(called, frame, ANYTHING)
        for index, target in enumerate(targets):
            given = samples
            if several and isinstance(samples, Sequence) and samples.elements is not None:
                given = samples.elements[index] if index < len(samples.elements) else None
            self._run(target, given, called, frame)
        if entry.backward:
            self.evaluator.run_backward(node, frame)
        self.evaluator.close_region(frame)
        return _graphed(callables, opened)

    def _run(self, target: Value, samples: Value | None, node: ir.Call, frame: Frame) -> None:
        if isinstance(samples, Sequence) and samples.elements:
            given = tuple(on_device(value) for value in samples.elements)
            self.evaluator.call(target, Arguments(given), node, frame)
            return
        if isinstance(samples, Tensor):
            self.evaluator.call(target, Arguments((on_device(samples),)), node, frame)
            return
        self.run_entry(target, node, frame)

    def run_entry(self, target: Value, node: ir.Call | None, frame: Frame, named: ir.Expr | None = None) -> None:
        """Call a callable as a graph's entry: its tensors are static inputs on the device."""
        for function, receiver in chosen(entry_functions(self.evaluator, target), named, frame):
            arguments = entry_arguments(self.evaluator, function, receiver)
            self.evaluator.call(function, arguments, node, frame)

    def _compile(self, entry: Entry, name: str, arguments: Arguments, node: ir.Call, frame: Frame) -> Value:
        """`torch.compile`: a soft region if its mode uses graphs; as a decorator factory it waits for the function."""
        target = _given(arguments, 0, entry.takes)
        if target is None:
            return Partial(External(name), (), arguments.keywords)
        if uses_graphs(entry, arguments) or self._may_use_graphs(entry, arguments, node, frame):
            opened = self.evaluator.open_region(frame, node, entry.kind, _mode(entry))
            opened.warms_up, opened.is_whole = True, any(arguments.keyword(name) == TRUE for name in entry.whole)
            called = _call_of_taken(entry, node)
            if target == UNKNOWN:
                self.evaluator.unresolved(called, frame, ANYTHING)
            self.run_entry(target, called, frame, node.arguments[0].value if node.arguments else None)
            self.evaluator.close_region(frame)
            return _graphed(target, opened)
        self.compiled.update(dict.fromkeys(function for function, _ in functions(target)))
        return target

    def _may_use_graphs(self, entry: Entry, arguments: Arguments, node: ir.Call, frame: Frame) -> bool:
        """Whether a choice that nobody knows is to use graphs by the default that its name has."""
        module, find = frame.function.module, self.evaluator.project.module
        own = {parameter.name for parameter in frame.function.code.parameters}
        for keyword, values in entry.graphing:
            told = [one for one in members(arguments.keyword(keyword) or NONE) if isinstance(one, (Unknown, Host))]
            asked = (last_name(one.value) for one in node.arguments if one.keyword == keyword and told)
            for name in asked:
                if name is not None and name not in own:
                    imported = (find(one.module) for found in module.index.imports.values() for one in found)
                    if offered((module, *(one for one in imported if one is not None)), name) in values:
                        return True
        return False


def _graphed(target: Value, opened: OpenRegion) -> Value:
    """What a capture makes of a value: calls of its functions are captured, with the arguments that they get."""
    region = opened.region
    return union(
        Graphed(member, region.kind, region.path, region.line) if isinstance(member, (Function, Bound)) else member
        for member in members(target)
    )


def _call_of_taken(entry: Entry, node: ir.Call) -> ir.Call:
    """A call of what is captured, as it is spelt where it is handed over."""
    taken = (one.value for one in node.arguments if not one.star and one.keyword in (None, *entry.takes))
    return ir.Call(node.mark, next(taken, node.func), ())


def _given(arguments: Arguments, position: int, keywords: Iterable[str]) -> Value | None:
    """An argument by its position, or under one of these keywords."""
    if position < len(arguments.positional):
        return arguments.positional[position]
    return next((value for keyword in keywords if (value := arguments.keyword(keyword)) is not None), None)


def uses_graphs(entry: Entry, arguments: Arguments) -> bool:
    """Whether the arguments of `torch.compile` imply CUDA graphs."""
    return any(_is_graphing(arguments.keyword(name) or NONE, values) for name, values in entry.graphing)


def _is_graphing(value: Value, graphing: tuple[str | bool, ...]) -> bool:
    """Whether an argument is one of these values, or a dict of options in which one of them is true."""
    for member in members(value):
        if isinstance(member, Const) and member.value in graphing:
            return True
        if isinstance(member, Mapping) and any(dict(member.items).get(Const(name)) == TRUE for name in graphing):
            return True
    return False


def _call(node: ir.Node | None) -> ir.Call | None:
    if node is None or isinstance(node, ir.Call):
        return node
    return ir.Call(node.mark, ir.Name(node.mark, ""), ())


def _mode(entry: Entry) -> Mode:
    return Mode.SOFT if entry.soft else Mode.CAPTURE
