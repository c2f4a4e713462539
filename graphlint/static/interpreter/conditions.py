"""Conditions in, their truth out: `and`, `or`, `not`, `if` ... `else`, and what holds behind each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphlint.rule import Truth
from graphlint.static.domain.contexts import Env, Frame
from graphlint.static.domain.program import Instance
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.parts import filling
from graphlint.static.interpreter import grounds, narrowing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name, names_in
from graphlint.values import TRUE, Arguments, Place, Sequence, Value, members, union
from graphlint.values.queries import device_tensor, truth

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Conditions:
    """Decides conditions, as far as they can be."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def boolean(self, node: ir.Boolean, frame: Frame) -> Value:
        left = self.interpreter.eval(node.left, frame)
        outcome = self.test(node.left, left, frame)
        goes_on = node.operator == "and"
        if outcome is not None and outcome is not goes_on:
            return left
        with self._behind(node, goes_on, frame):
            right = self.interpreter.eval(node.right, frame)
        if outcome is goes_on or self._is_settled(node, frame):
            return right
        kept = [m for m in members(left) if truth(m) is not goes_on]
        return union((*kept, right)) if kept else right

    def conditional(self, node: ir.Conditional, frame: Frame) -> Value:
        outcome = self.condition(node.test, frame)
        self.interpreter.traces.branched(node, outcome, frame)
        before, assumed = frame.env, frame.assumed
        results = []
        for answer, branch in ((True, node.body), (False, node.orelse)):
            if outcome is not None and outcome is not answer:
                continue
            frame.env = narrowing.narrow(self.interpreter, node.test, answer, frame)
            frame.assume(node.test, answer)
            with self.interpreter.heap.recent.perhaps():
                results.append(self.interpreter.eval(branch, frame))
            if device_tensor(results[-1]) is not None:
                self.interpreter.used("branch", node.test, TRUE, frame)
            frame.assumed = assumed
            before = frame.env = _with_new_names(before, frame.env)
        return union(results)

    def condition(self, node: ir.Expr, frame: Frame, asker: str = "condition") -> bool | None:
        """The truth of a condition if it is known; a device tensor asked for its truth is an event."""
        match node:
            case ir.Boolean():
                outcome = self._both(node, frame, asker)
            case ir.Unary(operator="not"):
                given = self.condition(node.operand, frame, asker)
                outcome = None if given is None else not given
            case _:
                outcome = self.test(node, self.interpreter.eval(node, frame), frame, asker)
        frame.known[node] = outcome = grounds.settled(node, frame) if outcome is None else outcome
        return outcome

    def _both(self, node: ir.Boolean, frame: Frame, asker: str) -> bool | None:
        """The truth of two conditions, joined by `and` or `or`."""
        goes_on = node.operator == "and"
        left = self.condition(node.left, frame, asker)
        if left is not None and left is not goes_on:
            return left
        with self._behind(node, goes_on, frame):
            right = self.condition(node.right, frame, asker)
        if left is goes_on or (right is not None and self._is_settled(node, frame)):
            return right
        return right if right is not None and right is not goes_on else None

    def _is_settled(self, node: ir.Boolean, frame: Frame) -> bool:
        """Whether the right side says it all: a guard of what is captured, behind `device.type == "cuda"`.

        Where a capture is under way its tensors lie on the device, whatever else the source calls them.
        """
        goes_on, asked = node.operator == "and", node.right
        while isinstance(asked, ir.Unary) and asked.operator == "not":
            asked = asked.operand
        if not frame.in_region or not isinstance(asked, ir.Call):
            return False
        lexicon = self.interpreter.lexicon
        place = narrowing.place_of_type(node.left, lexicon)
        answers = lexicon.guard(last_name(asked.func) or "")
        return (place is Place.DEVICE) is goes_on and place is not None and answers is not None

    def test(self, node: ir.Expr, value: Value, frame: Frame, asker: str = "condition") -> bool | None:
        """The truth of an evaluated expression."""
        frame.known[node] = None
        if device_tensor(value) is not None:
            truth_asked = Truth(value, asker, isinstance(node, ir.Name), isinstance(node, ir.Attribute))
            self.interpreter.observe(frame, node, truth_asked)
            return None
        given = None
        for name in ("__bool__", "__len__"):
            if given is None:
                given = self.interpreter.methods.special(value, name, Arguments(), node, frame)
        is_open = given is None and self._may_be_filled(node, value, frame)
        frame.known[node] = outcome = None if is_open else truth(value if given is None else given)
        return outcome

    def _may_be_filled(self, node: ir.Expr, value: Value, frame: Frame) -> bool:
        """Whether something fills a container that its object was made with before a region asks if it is empty."""
        is_empty = isinstance(value, Sequence) and value.elements == () and value.kind != "tuple"
        if not (is_empty and frame.in_region and isinstance(node, ir.Attribute)):
            return False
        objects = [one for one in members(self.interpreter.eval(node.value, frame)) if isinstance(one, Instance)]
        if any(one.in_region or (one, node.attr) in frame.env for one in objects):
            return False
        bases = (base for one in objects for base in self.interpreter.classes.order(one.cls))
        modules = {base.module for base in bases if isinstance(base, ClassDefinition)}
        return any(part.definition is not None for module in modules for part in filling(module, node.attr))

    @contextmanager
    def _behind(self, node: ir.Boolean, goes_on: bool, frame: Frame) -> Iterator[None]:
        """The right side of `and` and `or`: what the left side says holds there, and is assumed if it is not known.

        Of a comparison that is not known nothing supports that it holds, but for one that only says of what kind the
        value is that the right side asks, as in `x is not None and x.any()`.
        """
        before, assumed, doubtful = frame.env, frame.assumed, frame.doubtful
        frame.env = narrowing.narrow(self.interpreter, node.left, goes_on, frame)
        frame.assume(node.left, goes_on)
        if frame.known.get(node.left) is None and isinstance(node.left, ir.Compare):
            says_kind = node.left.comparisons[0][0] in ("is", "is not")
            frame.doubtful = doubtful or not says_kind or names_in(node.left).isdisjoint(names_in(node.right))
        with self.interpreter.heap.recent.perhaps():
            yield
        frame.env, frame.assumed, frame.doubtful = _with_new_names(before, frame.env), assumed, doubtful


def _with_new_names(before: Env, after: Env) -> Env:
    """The environment before an operand that may not be evaluated, with the names that only `:=` in it binds."""
    new: Env = {key: value for key, value in after.items() if isinstance(key, str) and key not in before}
    return {**before, **new} if new else before
