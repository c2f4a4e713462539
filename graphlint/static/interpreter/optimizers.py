"""The step of an optimizer of the project in, what it counts and takes from its groups on the host out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.rule import HostCount, HyperparameterRead
from graphlint.static.domain.contexts import Context, Counted, Frame
from graphlint.static.domain.program import Function
from graphlint.static.facts.counts import is_read, kept_at, starts_as_number
from graphlint.static.index.module import ClassDefinition
from graphlint.static.syntax import ir
from graphlint.static.writes.hyperparameters import RATE, replaces
from graphlint.values import UNKNOWN, Const, Host, Mapping, Place, Tensor, Unknown, Value, members
from graphlint.values.queries import is_number

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Optimizers:
    """Knows which optimizers keep a step count, or their learning rate, on the host."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.stepping = frozenset(interpreter.lexicon.modules["steps"])
        self.classes = frozenset(interpreter.lexicon.modules["optimizers"])
        self.steps: set[Context] = set()  # what they count is told where they are called

    def note(self, node: ir.AugAssign, left: Value, right: Value, frame: Frame) -> None:
        """A number that is added to what something keeps on the host, and computed with: `state["step"] += 1`."""
        if not frame.in_region or not is_number(right):
            return
        places = {m.place for m in members(left) if isinstance(m, Tensor)}
        is_tensor = places == {Place.HOST}
        place = kept_at(node.target, frame.function.code) if is_tensor else node.target
        if place is None or (isinstance(place, ir.Name) and not is_tensor) or self._is_new(place, frame):
            return
        starts = isinstance(left, Unknown) and starts_as_number(place, frame.function.code)
        if (is_number(left) or starts or is_tensor) and is_read(place, frame.module):
            frame.sink.counts.setdefault(frame.span(node), Counted(frame.function.source(node), frame.assumptions))

    def _is_new(self, place: ir.Expr, frame: Frame) -> bool:
        """Whether an operation has just made what changes."""
        if not isinstance(place, ir.Call):
            return False
        catalogue = self.interpreter.catalogue
        is_method = isinstance(place.func, ir.Attribute) and catalogue.method(place.func.attr) is not None
        name = self.interpreter.names.qualified_name(place.func, frame.module)
        return is_method or catalogue.find(name) is not None

    def stepped(self, function: Function, context: Context, node: ir.Call | None, frame: Frame) -> None:
        """A function was called: if it is the step of an optimizer, this is where what it counts is told."""
        if function.code.name not in self.stepping or node is None or not self._is_step(function):
            return
        if frame.function.owner is not None and self._is_step(frame.function) and _calls_super(node):
            return  # which is a part of the same step
        before = frame.assumed
        for counted in self._counted(context):
            frame.assumed = (*before, *counted.assumed)
            self.interpreter.observe(frame, node, HostCount(counted.text, is_optimizer=True))
            frame.assumed = before
        self.steps.add(context)

    def taken(self, node: ir.Subscript, group: Mapping, key: Value, frame: Frame) -> None:
        """An item is read: of a group, it is what schedules change, and a number as far as the constructor says."""
        owner = frame.function.owner
        if not frame.in_region or key != Const(RATE) or owner is None or Const("params") not in dict(group.items):
            return
        if self._is_optimizer(owner) and self._takes_number(owner) and not replaces(owner.module, RATE):
            self.interpreter.observe(frame, node, HyperparameterRead(RATE))

    def _takes_number(self, cls: ClassDefinition) -> bool:
        """Whether the constructor of an optimizer promises that its learning rate is a number."""
        found = self.interpreter.classes.method(cls, "__init__")
        functions = [one for one in members(found) if isinstance(one, Function)] if found is not None else []
        for function in functions:
            for parameter in function.code.parameters:
                if parameter.name == RATE:
                    promised = self.interpreter.signatures.refine(UNKNOWN, parameter, function)
                    default = parameter.default.value if isinstance(parameter.default, ir.Literal) else None
                    return promised == Host("float") or (promised == UNKNOWN and isinstance(default, float))
        return False

    def _is_optimizer(self, owner: ClassDefinition) -> bool:
        return not self.classes.isdisjoint(self.interpreter.classes.external_bases(owner))

    def _is_step(self, function: Function) -> bool:
        owner = function.owner
        return owner is not None and function.code.name in self.stepping and self._is_optimizer(owner)

    def _counted(self, start: Context) -> Iterator[Counted]:
        """What a step counts, and what is part of it."""
        seen, queue = {start}, [start]
        for context in queue:
            yield from context.counts.values()
            new = [callee for callee in context.calls if callee not in seen and callee not in self.steps]
            seen.update(new)
            queue.extend(new)


def _calls_super(node: ir.Call) -> bool:
    """Whether a call is one of `super().method(...)`."""
    match node.func:
        case ir.Attribute(value=ir.Call(func=ir.Name(id="super"))):
            return True
    return False
