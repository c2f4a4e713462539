"""Host values followed through what a region runs: from state that is read, through names and calls, to their uses.

Every function of a region keeps, for its names and calls, the reads that their values come from; a parameter stands for
whatever callers give it, so that a function is run once for all of them. What a use comes from is worked out at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphlint.static.domain.contexts import Context, Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Function, Instance, ModuleValue
from graphlint.static.domain.sources import NOTHING, Change, Place, Read, Scope, Source, Sources, State, Taken
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.values import NONE, Const, Host, Mapping, Sequence, Tensor, Unknown, Value, members
from graphlint.values import Place as Side
from graphlint.values.queries import device_tensor

_ITEM_KEYS = (str, int)


@dataclass(frozen=True, slots=True)
class Use:
    """What a value decides: `bound`, `index`, `count`, `branch`, `loop`, `operand` or `argument`."""

    kind: str
    place: Place


class Traces:
    """What the functions of regions read, hand on, use and change."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.given: dict[Taken, dict[Source, None]] = {}
        self.uses: dict[Source, dict[str, Use]] = {}
        self.changes: dict[tuple[Context, ir.Node], Change] = {}
        self.captured: set[tuple[Module, str]] = set()
        self.work = 0  # how many operations on the device have been seen in regions

    def worked(self) -> None:
        """Something runs on the device in a region."""
        self.work += 1

    # Reads

    def attribute(self, node: ir.Attribute, base: Value, value: Value, frame: Frame) -> None:
        """An attribute is read in a region."""
        if frame.answers:  # by a property
            frame.sources[node] = frozenset(frame.answers)
            return
        if node in frame.sources or not is_plain(value):
            return
        found: list[Source] = []
        for member in members(base):
            if isinstance(member, Instance) and not member.in_region:
                assigned = frame.sources.get((member, node.attr))
                if assigned is None:
                    found.append(Read(State(member.cls, node.attr), Place.of(frame, node)))
                found += assigned or ()
            elif isinstance(member, ModuleValue):
                found.append(Read(State(member.module, node.attr), Place.of(frame, node)))
        if found:
            frame.sources[node] = frozenset(found)

    def of(self, node: ir.Expr, frame: Frame) -> Sources:
        """The reads and parameters that the value of an expression comes from, as far as it is a plain one."""
        known = frame.sources.get(node)
        if known is not None:
            return known
        match node:
            case ir.Name():
                return self._of_name(node, frame)
            case ir.Subscript(value=holder, index=index):
                return self._of_item(node, holder, index, frame)
            case ir.Call(func=func, arguments=arguments):
                receiver = (func.value,) if isinstance(func, ir.Attribute) else ()
                return self._joined((*receiver, *(argument.value for argument in arguments)), frame)
            case ir.Binary(left=left, right=right) | ir.Boolean(left=left, right=right):
                return self._joined((left, right), frame)
            case ir.Unary(operand=operand):
                return self.of(operand, frame)
            case ir.Compare(left=left, comparisons=comparisons):
                return self._joined((left, *(right for _, right in comparisons)), frame)
            case ir.Conditional(test=test, body=body, orelse=orelse):
                return self._joined((test, body, orelse), frame)
            case ir.Display(elements=elements):
                return self._joined(elements, frame)
            case ir.DictDisplay(items=items):
                return self._joined((value for _, value in items), frame)
            case ir.Starred(value=inner) | ir.Walrus(value=inner) | ir.Await(value=inner):
                return self.of(inner, frame)
            case ir.Slice(bounds=bounds):
                return self._joined((bound for bound in bounds if bound is not None), frame)
        return NOTHING

    def _joined(self, nodes: Iterable[ir.Expr], frame: Frame) -> Sources:
        return NOTHING.union(*(self.of(node, frame) for node in nodes))

    def _of_name(self, node: ir.Name, frame: Frame) -> Sources:
        name, function = node.id, frame.function
        known = frame.sources.get(name)
        if known is not None:
            return known
        state: State | None = None
        value = frame.env.get(name)
        if value is not None:
            if not is_plain(value):
                return NOTHING
            if not frame.regions:
                return frozenset([Taken(frame.context, name)])
            owner = function.module if function.qualname == "<module>" else Scope(function.module, function.first_line)
            if any(parameter.name == name for parameter in function.code.parameters):
                return frozenset([Taken(frame.context, name), self._read(State(owner, name), node, frame)])
            state = State(owner, name)
        elif (held := dict(function.closure).get(name)) is not None:
            state = State(Scope(function.module, function.first_line), name) if is_plain(held) else None
        elif name in function.module.index.assignments:
            held = self.evaluator.module_member(function.module, name)
            state = State(function.module, name) if held is not None and is_plain(held) else None
        return NOTHING if state is None else frozenset([self._read(state, node, frame)])

    def _read(self, state: State, node: ir.Expr, frame: Frame) -> Read:
        read = Read(state, Place.of(frame, node))
        frame.sources[node] = frozenset([read])
        return read

    def _of_item(self, node: ir.Subscript, holder: ir.Expr, index: ir.Expr, frame: Frame) -> Sources:
        """An item of state is a piece of it, by its key; which one is read may be decided by other state."""
        found: set[Source] = set(self.of(index, frame))
        key = index.value if isinstance(index, ir.Literal) and isinstance(index.value, _ITEM_KEYS) else None
        for source in self.of(holder, frame):
            if key is not None and isinstance(source, Read) and source.state.key is None:
                state = State(source.state.owner, source.state.name, key)
                found.add(Read(state, Place.of(frame, node)))
            else:
                found.add(source)
        frame.sources[node] = frozenset(found)
        return frame.sources[node]

    # What values are handed on to

    def stored(self, target: ir.Expr, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A region assigns a value, which is that of a node, to a name or an attribute."""
        match target:
            case ir.Name(id=name):
                frame.sources[name] = self._of_stored(node, value, frame)
            case ir.Attribute(value=holder, attr=attr) if is_plain(value):
                sources = self._of_stored(node, value, frame)
                for member in members(self.evaluator.eval(holder, frame)):
                    if isinstance(member, Instance):
                        frame.sources[(member, attr)] = sources
            case ir.Display(elements=elements):
                parts = node.elements if isinstance(node, ir.Display) else ()
                for index, element in enumerate(elements):
                    part = parts[index] if len(parts) == len(elements) else node
                    self.stored(element, part, Host("object"), frame)

    def augmented(self, node: ir.AugAssign, value: Value, frame: Frame) -> None:
        """A region changes a name or an attribute by what it was."""
        sources = self.of(node.target, frame) | self.of(node.value, frame)
        if isinstance(node.target, ir.Name):
            frame.sources[node.target.id] = sources if is_plain(value) else NOTHING

    def _of_stored(self, node: ir.Expr | None, value: Value, frame: Frame) -> Sources:
        """Where a value comes from that is kept: which one it is, the conditions around it have decided as well."""
        if not is_plain(value):
            return NOTHING
        tests = self._joined(frame.tests, frame)
        return tests if node is None else self.of(node, frame) | tests

    def called(self, function: Function, context: Context, node: ir.Call | None, frame: Frame) -> None:
        """A function of the program is called in a region."""
        self.captured.add((function.module, function.qualname))
        self.work += context.has_work
        given: dict[str, Sources] = {}
        names = [parameter.name for parameter in function.code.parameters]
        for name, sources in self._arguments(names, node, frame):
            given[name] = given.get(name, NOTHING) | sources
            self.given.setdefault(Taken(context, name), {}).update(dict.fromkeys(sources))
        answers: set[Source] = set()
        for source in context.answers:
            own = isinstance(source, Taken) and source.context is context
            answers |= given.get(source.name, NOTHING) if isinstance(source, Taken) and own else {source}
        if node is None:
            frame.answers = [*frame.answers, *answers]
        else:
            frame.sources[node] = frame.sources.get(node, NOTHING) | answers

    def _arguments(self, names: list[str], node: ir.Call | None, frame: Frame) -> Iterator[tuple[str, Sources]]:
        """What parameters are given, counted from the last of the positional ones that a receiver comes before."""
        if node is None or not node.arguments:
            return
        positional = [argument for argument in node.arguments if argument.keyword is None and not argument.star]
        offset = int(bool(names) and names[0] in ("self", "cls", "ctx"))
        for index, argument in enumerate(positional):
            if offset + index < len(names) and (sources := self.of(argument.value, frame)):
                yield names[offset + index], sources
        for argument in node.arguments:
            if argument.keyword is not None:
                yield argument.keyword, self.of(argument.value, frame)
            elif argument.star:
                sources = self.of(argument.value, frame)
                yield from ((name, sources) for name in names[offset:] if sources)

    def answered(self, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A function of a region returns a value."""
        if node is not None and is_plain(value):
            frame.context.answers.update(dict.fromkeys(self._of_stored(node, value, frame)))

    # Uses and changes

    def used(self, kind: str, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A value decides what a region does."""
        if node is None or not frame.in_region or not is_plain(value) or isinstance(node, ir.Literal):
            return
        for source in self.of(node, frame):
            self.uses.setdefault(source, {}).setdefault(kind, Use(kind, Place.of(frame, node)))

    def changed(self, state: State, form: str, node: ir.Node, frame: Frame) -> None:
        """A region changes state."""
        self.changes.setdefault((frame.sink, node), Change(state, form, Place.of(frame, node)))

    def origins(self, source: Source) -> list[Read]:
        """The reads that a source stands for."""
        pending, seen = [source], {source}
        for one in pending:
            for other in self.given.get(one, ()) if isinstance(one, Taken) else ():
                if other not in seen:
                    seen.add(other)
                    pending.append(other)
        return [one for one in pending if isinstance(one, Read)]


def is_plain(value: Value) -> bool:
    """Whether a value can be a number, a flag, or a container of these, and nothing that lies on the device."""
    return device_tensor(value) is None and any(_can_be_plain(member) for member in members(value))


def _can_be_plain(value: Value) -> bool:
    match value:
        case Tensor(place=place):
            return place is Side.HOST
        case Const() | Host() | Unknown():
            return value != NONE
        case Sequence(kind="sequential" | "module-list"):
            return False
        case Sequence() | Mapping():
            return True
    return False
