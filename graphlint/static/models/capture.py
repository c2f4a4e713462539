"""How capture regions are spelled: the table in `rules/regions.toml`, and what its entries do to a frame."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.finding import Region
from graphlint.static.domain.contexts import Context, Frame, Mode, OpenRegion
from graphlint.static.domain.program import Function, Instance, Partial
from graphlint.static.models.inputs import entry_arguments, entry_functions, functions, on_device
from graphlint.static.syntax import ir
from graphlint.static.syntax.words import Words
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
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

GRAPHING_MODES = frozenset({"reduce-overhead", "max-autotune"})
# Context managers that change what the operations inside them do.
_SURROUNDING = frozenset({"torch.autograd.detect_anomaly", "torch.autograd.graph.save_on_cpu", "warp.ScopedStream"})
GRAPHING_KEYWORDS = ("mode", "backend", "options")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table."""

    kind: str
    form: str
    names: tuple[str, ...]
    soft: bool = False
    foreign: bool = False
    telling: bool = False
    backward: bool = False
    marks: tuple[str, ...] = ()

    @property
    def mode(self) -> Mode:
        return Mode.SOFT if self.soft else Mode.CAPTURE


class Entries:
    """The spellings by qualified name, and by last name where that tells enough."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.by_name = {name: entry for entry in entries for name in entry.names}
        self.by_last_name = {
            name.rpartition(".")[2]: entry for entry in entries if entry.telling for name in entry.names
        }
        self.declaring = {n.rpartition(".")[2] for entry in entries if entry.form == "decorator" for n in entry.names}
        self.marks = sorted({mark.encode() for entry in entries for mark in entry.marks})
        words = {name.rpartition(".")[2] for name in self.by_name}
        compiling = frozenset(n.rpartition(".")[2] for entry in entries if entry.form == "compile" for n in entry.names)
        pattern = re.compile(r"\b(?:" + "|".join(sorted(words)) + r")\b")
        self.words = Words(pattern, compiling, frozenset({*GRAPHING_KEYWORDS, None}))

    def find(self, name: str) -> Entry | None:
        return self.by_name.get(name)

    def declares(self, name: str) -> bool:
        """Whether a decorator makes a declared region of what it decorates."""
        entry = self.find(name)
        return entry is not None and entry.form == "decorator"

    def find_method(self, cls: str, name: str) -> Entry | None:
        """The entry that a method of a class outside the project is; every module has those of `torch.nn.Module`."""
        found = self.find(f"{cls}.{name}")
        return self.find(f"torch.nn.Module.{name}") if found is None and cls.startswith("torch.nn.") else found

    def is_manager(self, value: Value) -> bool:
        """Whether a value is a context manager that opens a region."""
        entry = self.find(value.cls) if isinstance(value, ExternalObject) else None
        return entry is not None and entry.form == "context"

    def enter(self, interpreter: Interpreter, node: ir.Node | None, manager: Value, frame: Frame) -> Value:
        """Enter a context manager: open its region if it has one, and give what `as` binds."""
        results = [self._enter(interpreter, node, member, frame) for member in members(manager) if member != NONE]
        return union(results) if results else UNKNOWN

    def _enter(self, interpreter: Interpreter, node: ir.Node | None, manager: Value, frame: Frame) -> Value:
        if isinstance(manager, ExternalObject):
            entry = self.find(manager.cls)
            if entry is not None and entry.form == "context" and node is not None:
                interpreter.open_region(frame, node, entry.kind, entry.mode, entry.foreign)
                return manager
            if manager.cls in _SURROUNDING and manager.argument("check_nan") != FALSE:
                frame.around |= {ExternalObject(manager.cls)}
            generator = manager.argument("generator")
            if manager.cls == "contextlib.contextmanager" and generator is not None:
                return self._enter_generator(interpreter, node, generator, frame)
            return manager
        if isinstance(manager, Instance):
            for base in interpreter.classes.external_bases(manager.cls):
                entry = self.find(base)
                if entry is not None and entry.form == "context" and node is not None:
                    interpreter.open_region(frame, node, entry.kind, entry.mode, entry.foreign)
                    return manager
            before = len(frame.regions)
            entered = interpreter.methods.call(manager, "__enter__", Arguments(), _call(node), frame)
            opened = frame.regions[before:]
            del frame.regions[before:]
            self._reopen(interpreter, node, opened, frame)
            return entered
        if isinstance(manager, DeviceName):
            frame.around = frozenset(value for value in frame.around if not isinstance(value, DeviceName)) | {manager}
        return UNKNOWN if isinstance(manager, Unknown) else manager

    def _enter_generator(self, interpreter: Interpreter, node: ir.Node | None, generator: Value, frame: Frame) -> Value:
        """A helper made with `contextlib.contextmanager`: what is open where it yields is open in the body."""
        assert isinstance(generator, Partial)
        arguments = Arguments(generator.arguments, generator.keywords)
        results = []
        for function, receiver in functions(generator.function):
            given = arguments if receiver is None else arguments.prepend(receiver)
            context = interpreter.calls.context(function, given, _call(node), frame)
            self._reopen(interpreter, node, context.open_at_yield, frame)
            results.append(interpreter.expressions.element(context.result))
        return union(results) if results else UNKNOWN

    def _reopen(self, interpreter: Interpreter, node: ir.Node | None, opened: list[OpenRegion], frame: Frame) -> None:
        """The region of a helper begins, for its user, where the helper is used."""
        for region in opened[:1]:
            if node is not None:
                interpreter.open_region(frame, node, region.region.kind, region.mode, region.foreign)

    def call(
        self, interpreter: Interpreter, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        """A call by qualified name; None if it has nothing to do with regions."""
        entry = self.find(name)
        if entry is None or node is None:
            return None
        if entry.form == "context":
            return ExternalObject(name)
        if entry.form == "decorator":
            return arguments.positional[0] if arguments.positional else UNKNOWN
        if entry.form == "begin":
            interpreter.open_region(frame, node, entry.kind, entry.mode, entry.foreign)
            return UNKNOWN
        if entry.form == "end":
            interpreter.close_region(frame)
            return UNKNOWN
        if entry.form == "compile":
            return self._compile(interpreter, entry, name, arguments, node, frame)
        return self._capture_callables(interpreter, entry, arguments, node, frame)

    def call_method(
        self,
        interpreter: Interpreter,
        name: str,
        receiver: Value,
        arguments: Arguments,
        node: ir.Call | None,
        frame: Frame,
    ) -> Value | None:
        """A call of a method; its last name may be enough."""
        cls, _, last = name.rpartition(".")
        entry = self.find_method(cls, last) or self.by_last_name.get(last)
        if entry is None and last in ("__enter__", "__exit__"):
            return self._by_hand(interpreter, last, receiver, node, frame)
        if entry is None or node is None:
            return None
        if entry.form == "compile":
            return self._compile(interpreter, entry, name, arguments.prepend(receiver), node, frame)
        return self.call(interpreter, entry.names[0], arguments, node, frame)

    def declare(self, interpreter: Interpreter, function: Function, node: ir.Expr, frame: Frame) -> None:
        """Run a function inside of another one as a declared region."""
        path, line = frame.context.path, function.first_line + function.code.pos[0]
        entry = f"{function.module.name}:{function.qualname}"
        region = OpenRegion(Region("declared", path, line, entry), Context(entry, path), Mode.CAPTURE)
        interpreter.regions[("declared", path, line, entry)] = region
        frame.regions.append(region)
        self.run_entry(interpreter, function, _call(node), frame)
        frame.regions.pop()

    def _by_hand(
        self, interpreter: Interpreter, name: str, receiver: Value, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        """A context manager that is entered and left by calls of its methods."""
        if not self.is_manager(receiver):
            return None
        if name == "__enter__":
            return self._enter(interpreter, node, receiver, frame)
        interpreter.close_region(frame)
        return NONE

    def _capture_callables(
        self, interpreter: Interpreter, entry: Entry, arguments: Arguments, node: ir.Call, frame: Frame
    ) -> Value:
        """Run the callables with the sample arguments inside a region."""
        if not arguments.positional:
            first = arguments.keyword("callables") or arguments.keyword("modules") or arguments.keyword("fn")
            if first is None:
                return UNKNOWN
            arguments = Arguments((first, *arguments.positional), arguments.keywords)
        callables = arguments.positional[0]
        samples = arguments.positional[1] if len(arguments.positional) > 1 else arguments.keyword("sample_args")
        targets: list[Value] = [callables]
        several = isinstance(callables, Sequence) and callables.kind in ("tuple", "list")
        if isinstance(callables, Sequence) and several:
            targets = [callables.element] if callables.elements is None else list(callables.elements)
        interpreter.open_region(frame, node, entry.kind, entry.mode, entry.foreign)
        for index, target in enumerate(targets):
            given = samples
            if several and isinstance(samples, Sequence) and samples.elements is not None:
                given = samples.elements[index] if index < len(samples.elements) else None
            self._run(interpreter, target, given, node, frame)
        if entry.backward:
            interpreter.calls.run_backward(node, frame)
        interpreter.close_region(frame)
        return callables

    def _run(self, interpreter: Interpreter, target: Value, samples: Value | None, node: ir.Call, frame: Frame) -> None:
        if isinstance(samples, Sequence) and samples.elements:
            given = tuple(on_device(value) for value in samples.elements)
            interpreter.calls.call(target, Arguments(given), node, frame)
            return
        if isinstance(samples, Tensor):
            interpreter.calls.call(target, Arguments((on_device(samples),)), node, frame)
            return
        self.run_entry(interpreter, target, node, frame)

    def run_entry(self, interpreter: Interpreter, target: Value, node: ir.Call | None, frame: Frame) -> None:
        """Call a callable as a graph's entry: its tensors are static inputs on the device."""
        for function, receiver in entry_functions(interpreter, target):
            arguments = entry_arguments(interpreter, function, receiver)
            interpreter.calls.call(function, arguments, node, frame)

    def _compile(
        self, interpreter: Interpreter, entry: Entry, name: str, arguments: Arguments, node: ir.Call, frame: Frame
    ) -> Value:
        """`torch.compile`: a soft region if its mode uses graphs; as a decorator factory it waits for the function."""
        target = arguments.positional[0] if arguments.positional else arguments.keyword("model")
        if target is None:
            return Partial(External(name), (), arguments.keywords)
        if uses_graphs(arguments):
            interpreter.open_region(frame, node, entry.kind, entry.mode)
            self.run_entry(interpreter, target, node, frame)
            interpreter.close_region(frame)
        return target


def load_entries(path: Path) -> Entries:
    """Read the table at `path`."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["entry"]
    return Entries(tuple(Entry(**row | {key: tuple(row.get(key, ())) for key in ("names", "marks")}) for row in rows))


def uses_graphs(arguments: Arguments) -> bool:
    """Whether the arguments of `torch.compile` imply CUDA graphs."""
    mode, backend, options = (arguments.keyword(name) for name in GRAPHING_KEYWORDS)
    if any(isinstance(m, Const) and m.value in GRAPHING_MODES for m in members(mode or NONE)):
        return True
    if backend == Const("cudagraphs"):
        return True
    return isinstance(options, Mapping) and dict(options.items).get(Const("triton.cudagraphs")) == TRUE


def _call(node: ir.Node | None) -> ir.Call | None:
    if node is None or isinstance(node, ir.Call):
        return node
    return ir.Call(node.mark, ir.Name(node.mark, ""), ())
