"""The step of an optimizer of the project in, what it counts on the host out: replay does not count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphlint.rule import HostCount
from graphlint.static.domain.contexts import Context, Counted, Frame
from graphlint.static.domain.program import Function
from graphlint.static.facts.counts import starts_as_number
from graphlint.static.syntax import ir
from graphlint.values import Unknown, Value
from graphlint.values.queries import is_number

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Optimizers:
    """Knows which optimizers keep a step count on the host."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.stepping = frozenset(interpreter.lexicon.modules["steps"])
        self.classes = frozenset(interpreter.lexicon.modules["optimizers"])
        self.steps: set[Context] = set()  # what they count is told where they are called

    def note(self, node: ir.AugAssign, left: Value, right: Value, frame: Frame) -> None:
        """A number that is added to what something keeps: `state["step"] += 1`."""
        if not frame.in_region or not isinstance(node.target, (ir.Attribute, ir.Subscript)) or not is_number(right):
            return
        if is_number(left) or (isinstance(left, Unknown) and starts_as_number(node.target, frame.function.code)):
            frame.sink.counts.setdefault(frame.span(node), Counted(frame.function.source(node), frame.assumptions))

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

    def _is_step(self, function: Function) -> bool:
        owner = function.owner
        if owner is None or function.code.name not in self.stepping:
            return False
        return not self.classes.isdisjoint(self.interpreter.classes.external_bases(owner))

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
