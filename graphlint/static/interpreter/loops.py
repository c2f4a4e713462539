"""Loops in, the environments behind them out: bodies are run until their values settle, or as often as is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame, Loop
from graphlint.static.domain.program import Class, Function
from graphlint.static.interpreter import grounds, narrowing
from graphlint.static.syntax import ir
from graphlint.values import TRUE, Const, External, Host, Sequence, Value, limit_depth, members

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_ROUNDS = 3  # of a loop body; values have settled by then, or are cut by the limits on containers
MAX_UNROLLED = 12  # loops over known constants that are run as they would run
MAX_RUNS = 2000  # of a body, with the loops around it: beyond, rounds are left out


class Loops:
    """Runs loops."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def run_for(self, node: ir.For, frame: Frame) -> bool:
        iterable, assumed = self.interpreter.eval(node.iterable, frame), frame.assumed
        self.assume_filled(node.iterable, frame)
        if isinstance(iterable, Sequence) and _holds_plain(iterable):
            self.interpreter.used("count", node.iterable, TRUE, frame)
        goes_on = self._run_over(node, iterable, frame)
        frame.assumed = assumed
        return goes_on

    @staticmethod
    def assume_filled(iterable: ir.Expr, frame: Frame) -> None:
        """A loop over `rows if flag else ()` runs where there are rows."""
        if isinstance(iterable, ir.Conditional):
            for branch, outcome in ((iterable.orelse, True), (iterable.body, False)):
                if isinstance(branch, ir.Display) and not branch.elements:
                    frame.assume(iterable.test, outcome)

    def _run_over(self, node: ir.For, iterable: Value, frame: Frame) -> bool:
        elements = iterable.elements if isinstance(iterable, Sequence) else None
        most = min(MAX_UNROLLED, MAX_RUNS // _runs(frame))
        if elements is not None and len(elements) <= most and all(map(_is_plain, elements)):
            return self._unrolled(node, elements, frame)
        element = self.interpreter.expressions.iterate(node.iterable, iterable, frame)

        def enter() -> bool:
            self._store(node, element, frame)
            return True

        return self._settle(node, frame, enter, lambda comes_round: bool(elements) and not comes_round)

    @contextmanager
    def repeated(self, times: int, frame: Frame) -> Iterator[bool]:
        """What runs here runs so often, with the loops around it; whether that is not too often."""
        loop = Loop(min(max(times, 1) * _runs(frame), MAX_RUNS))
        frame.loops.append(loop)
        yield loop.runs < MAX_RUNS
        frame.loops.pop()

    def _store(self, node: ir.For, element: Value, frame: Frame) -> None:
        """Give the target of a loop the element of a round."""
        self.interpreter.assignment.store(node.target, element, frame)
        if frame.in_region:
            self.interpreter.traces.stored(node.target, node.iterable, element, frame)

    def _unrolled(self, node: ir.For, elements: tuple[Value, ...], frame: Frame) -> bool:
        """Run a loop over a few known constants as it would run."""
        loop, assumed = Loop(max(len(elements), 1) * _runs(frame)), frame.assumed
        frame.loops.append(loop)
        goes_on = True
        for element in elements:
            frame.assumed = assumed
            self._store(node, element, frame)
            loop.continues.clear()
            with self.interpreter.heap.recent.perhaps(), grounds.apart(frame):
                goes_on = self.interpreter.block(node.body, frame)
            ends = [*([frame.env] if goes_on else []), *loop.continues]
            goes_on = bool(ends)
            if not ends:
                break
            frame.env = self.interpreter.merge_all(ends)
        frame.loops.pop()
        frame.assumed = assumed
        return self._leave(node.orelse, loop, frame, goes_on)

    def _leave(self, orelse: ir.Block, loop: Loop, frame: Frame, goes_on: bool) -> bool:
        """Behind a loop: where it ended by itself, and where it was left."""
        goes_on = goes_on and self.interpreter.block(orelse, frame)
        exits = [*([frame.env] if goes_on else []), *loop.breaks]
        if exits:
            frame.env = self.interpreter.merge_all(exits)
        return bool(exits)

    def run_while(self, node: ir.While, frame: Frame) -> bool:
        outcomes: list[bool | None] = []

        def enter() -> bool:
            outcomes.append(self.interpreter.conditions.condition(node.test, frame, asker="loop"))
            self.interpreter.used("loop", node.test, TRUE, frame)
            if outcomes[-1] is not False:
                frame.env = narrowing.narrow(self.interpreter, node.test, True, frame)
                frame.assume(node.test, True)
            return outcomes[-1] is not False

        return self._settle(node, frame, enter, lambda comes_round: outcomes[0] is True)

    def _settle(
        self, node: ir.For | ir.While, frame: Frame, enter: Callable[[], bool], endless: Callable[[bool], bool]
    ) -> bool:
        """Run a body until its environment settles.

        `endless` says whether the loop is only left from inside of its body, given whether that comes to its end.
        """
        env, assumed, comes_round = frame.env, frame.assumed, False
        rounds = max(1, min(MAX_ROUNDS, MAX_RUNS // _runs(frame)))
        loop = Loop(rounds * _runs(frame))
        frame.loops.append(loop)
        for _ in range(rounds):
            frame.env, frame.assumed = dict(env), assumed
            if not enter():
                break
            loop.continues.clear()
            with self.interpreter.heap.recent.perhaps(), grounds.apart(frame):
                goes_on = self.interpreter.block(node.body, frame)
            comes_round = comes_round or goes_on or bool(loop.continues)
            ends = [env, *([frame.env] if goes_on else []), *loop.continues]
            merged = {key: limit_depth(value) for key, value in self.interpreter.merge_all(ends).items()}
            if merged == env:
                break
            env = merged
        frame.loops.pop()
        frame.env, frame.assumed = env, assumed
        if endless(comes_round):
            if not loop.breaks:
                return False
            frame.env = self.interpreter.merge_all(loop.breaks)
            return True
        return self._leave(node.orelse, loop, frame, True)

    def jump(self, node: ir.Jump, frame: Frame) -> bool:
        if node.kind == "pass":
            return True
        if frame.loops:
            loop = frame.loops[-1]
            (loop.breaks if node.kind == "break" else loop.continues).append(frame.env)
        return False


def _runs(frame: Frame) -> int:
    """How often the loops around what stands here run it."""
    return frame.loops[-1].runs if frame.loops else 1


def _holds_plain(iterable: Sequence) -> bool:
    """Whether a list holds values of the host alone, as far as it is known."""
    parts = iterable.elements if iterable.elements is not None else (iterable.element,)
    return bool(parts) and all(isinstance(member, (Const, Host)) for part in parts for member in members(part))


def _is_plain(value: Value) -> bool:
    """A constant, a function or class, or a tuple of these."""
    if isinstance(value, Sequence):
        return value.elements is not None and any(_is_plain(element) for element in value.elements)
    return isinstance(value, (Const, External, Function, Class))
