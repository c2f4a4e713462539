"""Statements in, a changed environment out: both branches are run where a condition is not known.

Long, because branches, loops and blocks that end early share what they leave behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graphlint.static.domain.assumptions import FIRST_MOVE, RAISED, Assumption, Assumptions, is_put_out
from graphlint.static.domain.contexts import UNLIKELY, Env, Frame, Ground, Mode, OpenRegion, dispatched
from graphlint.static.interpreter import choices, grounds, narrowing
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from graphlint.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    Host,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


_CATCHING = frozenset({"contextlib.suppress", "pytest.raises"})  # what ends an exception where its block ends


class Statements:
    """Runs statements; each answers whether control goes on behind it."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._by_type: dict[type, Callable[[Any, Frame], bool]] = {
            ir.Assign: self._assign, ir.AugAssign: self._augmented, ir.Evaluate: self._evaluate,
            ir.Return: self._return, ir.Raise: self._raise, ir.Assert: self._assert, ir.Delete: self._delete,
            ir.If: self._if, ir.For: interpreter.loops.run_for, ir.While: interpreter.loops.run_while,
            ir.Jump: interpreter.loops.jump, ir.With: self._with, ir.Try: self._try, ir.Match: self._match,
            ir.Scope: self._scope, ir.Import: self._import, ir.Define: self._define,
            ir.DefineClass: self._define_class,
        }  # fmt: skip

    def block(self, body: ir.Block, frame: Frame) -> bool:
        return all(self._by_type[type(statement)](statement, frame) for statement in body)

    def _assign(self, node: ir.Assign, frame: Frame) -> bool:
        if node.value is None:
            return True
        assignment = self.interpreter.assignment
        attributes = [target for target in node.targets if isinstance(target, ir.Attribute)]
        moved = [target for target in attributes if assignment.is_moved(target, node.value)]
        computed = [target for target in attributes if assignment.is_computed_of_moved(target, node.value)]
        assumed = frame.assumed
        if (moved or computed) and frame.in_region:
            frame.assumed = (*assumed, Assumption(frame.function, [*moved, *computed][0], form=FIRST_MOVE))
        value = self.interpreter.eval(node.value, frame)
        if isinstance(value, Unknown) and node.annotation is not None:
            value = self.interpreter.annotations.promised(node.annotation, frame.module)
        if not moved:
            frame.assumed = assumed  # what is computed of it is another tensor each time
        for target in node.targets:
            assignment.store(target, value, frame)
            grounds.keep(target, node.value, frame)
        for target in (*moved, *computed):
            assignment.settle_moved(target, value, frame)
        frame.assumed = assumed
        if frame.in_region:
            self.interpreter.traces.assigned(node, value, frame)
        return True

    def _augmented(self, node: ir.AugAssign, frame: Frame) -> bool:
        left, right = self.interpreter.eval(node.target, frame), self.interpreter.eval(node.value, frame)
        self.interpreter.optimizers.note(node, left, right, frame)
        value = self.interpreter.operators.apply(node, node.operator, left, right, frame)
        kinds = {type(member) for member in members(left) if member != NONE}
        if kinds == {Tensor}:
            value = left
        elif Tensor in kinds or kinds <= {Unknown}:  # a tensor would be changed in place
            value = union(replace(m, fresh=False) if isinstance(m, Tensor) else m for m in members(value))
        self.interpreter.assignment.store(node.target, value, frame)
        if frame.in_region:
            self.interpreter.traces.augmented(node, value, frame)
        return True

    def _evaluate(self, node: ir.Evaluate, frame: Frame) -> bool:
        frame.raised.discard(node.value)
        self.interpreter.eval(node.value, frame)
        return node.value not in frame.raised

    def _return(self, node: ir.Return, frame: Frame) -> bool:
        frame.returns.append(NONE if node.value is None else self.interpreter.eval(node.value, frame))
        if frame.in_region:
            self.interpreter.traces.answered(node.value, frame.returns[-1], frame)
        if node.value in frame.suspended:
            frame.context.open_at_yield = frame.suspended[node.value]
        return False

    def _raise(self, node: ir.Raise, frame: Frame) -> bool:
        if node.value is not None:
            # What is raised ends the capture by itself: how the message is put together does not matter.
            regions, mode = frame.regions, frame.outer_mode
            frame.regions, frame.outer_mode = [], Mode.OUTSIDE
            self.interpreter.eval(node.value, frame)
            frame.regions, frame.outer_mode = regions, mode
        return False

    def _assert(self, node: ir.Assert, frame: Frame) -> bool:
        outcome = self.interpreter.conditions.condition(node.test, frame)
        if node.message is not None and outcome is False and not frame.searches:
            return False
        frame.env = narrowing.narrow(self.interpreter, node.test, True, frame)
        return True

    def _delete(self, node: ir.Delete, frame: Frame) -> bool:
        for target in node.targets:
            if isinstance(target, ir.Name):
                frame.env.pop(target.id, None)
        return True

    def _if(self, node: ir.If, frame: Frame) -> bool:
        outcome = self.interpreter.conditions.condition(node.test, frame)
        if outcome and frame.in_region and is_put_out(node.test, node.body, frame.function):
            outcome = frame.known[node.test] = None  # it holds once
        self.interpreter.traces.branched(node, outcome, frame)
        frame.tests.append(node.test)
        work, before = self.interpreter.traces.work, frame.assumed
        goes_on = self._branches(node, outcome, frame)
        frame.tests.pop()
        leaves = any(block and isinstance(block[-1], (ir.Return, ir.Jump)) for block in (node.body, node.orelse))
        is_skipped = outcome is not None and (node.orelse or (not outcome and self._computes(node.body)))
        if self.interpreter.traces.work > work or leaves or is_skipped:
            behind, frame.assumed = frame.assumed, before  # it is asked whichever way is taken
            self.interpreter.used("branch", node.test, TRUE, frame)
            frame.assumed = behind
        return goes_on

    def _computes(self, block: ir.Block) -> bool:
        """Whether a block that is not run calls what tensors have, or multiplies."""
        methods = self.interpreter.catalogue.method
        for part in walk(block):
            match part:
                case ir.Call(func=ir.Attribute(attr=name)) if methods(name) is not None:
                    return True
                case ir.Binary(operator="@" | "*"):
                    return True
        return False

    def _branches(self, node: ir.If, outcome: bool | None, frame: Frame) -> bool:
        if outcome is not None and not frame.searches:
            frame.env = narrowing.narrow(self.interpreter, node.test, outcome, frame)
            return self.block(node.body if outcome else node.orelse, frame)
        before, assumed, around, ground = frame.env, frame.assumed, frame.around, frame.ground
        base, opened = list(frame.regions), list[list[OpenRegion]]()
        ends: dict[bool, tuple[Env, Assumptions, Ground]] = {}
        likely = {answer: narrowing.is_likely(self.interpreter, node.test, answer, frame) for answer in (True, False)}
        choices.ask(node.test, frame)
        for answer, branch, other in ((True, node.body, node.orelse), (False, node.orelse, node.body)):
            frame.env, frame.assumed = before, assumed
            frame.regions = list(base) if opened else frame.regions
            frame.around = around if likely[answer] else around | {UNLIKELY}
            frame.env = narrowing.narrow(self.interpreter, node.test, answer, frame)
            there = frame.ground = grounds.behind(node.test, answer, ground, frame)
            if not _fails(other):
                frame.assume(node.test, answer, likely[answer])
            with self.interpreter.heap.recent.perhaps():
                goes_on = self.block(branch, frame)
            if goes_on:
                ends[answer] = frame.env, frame.assumed, frame.ground
                opened.append(frame.regions)
            else:
                frame.excluded = (*frame.excluded, there.said)
        frame.around, frame.ground = around, ground
        frame.regions = _open_behind(len(base), *opened) if opened else frame.regions
        if len(ends) == 1:  # what follows is behind the branch that goes on
            ((frame.env, frame.assumed, frame.ground),) = ends.values()
        elif ends:
            envs = {answer: env for answer, (env, *_) in ends.items()}
            # What nothing speaks for leaves nothing behind.
            frame.env = self.interpreter.merge_all([env for answer, env in envs.items() if likely[answer]])
            frame.assumed = (*assumed, *self._left(node.test, ends, assumed, frame))
            choices.settle(node.test, envs, frame.env, frame)
            if frame.constructing is not None and len(envs) > 1:
                self.interpreter.heap.choose(frame.constructing, node.test, envs)
        return bool(ends)

    def _left(
        self, test: ir.Expr, ends: dict[bool, tuple[Env, Assumptions, Ground]], before: Assumptions, frame: Frame
    ) -> Iterator[Assumption]:
        """What is assumed behind a branch that is left where kept state still fits: `if self.x is not None: if
        self.x.size(0) >= n: return`. The other branch, on which there is none yet, is that of the first run.
        """
        for answer, (_, behind, _) in ends.items():
            if Assumption(frame.function, test, not answer).is_unfilled:
                new = behind[len(before) :]
                yield from new if any(one.test is not test for one in new) else ()

    def _with(self, node: ir.With, frame: Frame) -> bool:
        around = frame.around
        managers: list[tuple[ir.Expr, Value, int]] = []
        for expression, target in node.items:
            manager = self.interpreter.eval(expression, frame)
            managers.append((expression, manager, len(frame.regions)))
            entered = self.interpreter.capture.enter(expression, manager, frame)
            if target is not None:
                self.interpreter.assignment.store(target, entered, frame)
        with grounds.apart(frame):
            goes_on = self.block(node.body, frame)
        for expression, manager, depth in reversed(managers):
            # What `__exit__` closes is the region of its own manager; it ends here in any case.
            outside, closes = frame.regions[:depth], frame.context.closes
            for one in dispatched(list(members(manager)), expression, frame):
                self.interpreter.methods.special(one, "__exit__", Arguments((NONE, NONE, NONE)), expression, frame)
            frame.regions, frame.context.closes = outside, closes
        frame.around = around
        return goes_on or any(self._catches(manager, frame) for manager, _ in node.items)

    def _catches(self, manager: ir.Expr, frame: Frame) -> bool:
        """Whether a context manager ends what is raised inside."""
        called = members(self.interpreter.eval(manager.func, frame)) if isinstance(manager, ir.Call) else ()
        return any(isinstance(one, External) and one.name in _CATCHING for one in called)

    def _try(self, node: ir.Try, frame: Frame) -> bool:
        before, assumed = dict(frame.env), frame.assumed
        returned = len(frame.returns)
        with self.interpreter.heap.recent.perhaps(), grounds.apart(frame):
            body_goes_on = self.block(node.body, frame)
        after_body = frame.env
        ends: list[Env] = []
        if body_goes_on and self.block(node.orelse, frame):
            ends.append(frame.env)
        answers = frame.returns[returned:]
        # A body that comes to a constant, as `try: return is_compiling()` does, did not fail on the way.
        settled = not body_goes_on and answers and all(isinstance(answer, Const) for answer in answers)
        settled = settled or self._asks_guard(node.body)
        for handler in () if settled else node.handlers:
            frame.env = self.interpreter.merge(before, after_body)
            if handler.name is not None:
                frame.env = {**frame.env, handler.name: Host("object")}
            if handler.kind is not None:
                frame.assumed = (*assumed, Assumption(frame.function, handler.kind, form=RAISED))
            with self.interpreter.heap.recent.perhaps(), grounds.apart(frame):
                goes_on = self.block(handler.body, frame)
            if goes_on:
                ends.append(frame.env)
        frame.assumed = assumed
        frame.env = self.interpreter.merge_all(ends) if ends else self.interpreter.merge(before, after_body)
        return self.block(node.final, frame) and bool(ends)

    def _asks_guard(self, body: ir.Block) -> bool:
        """Whether all that a body does is to keep what a guard answers."""
        match body:
            case (ir.Assign(value=ir.Call(func=ir.Attribute(attr=name) | ir.Name(id=name))),):
                return self.interpreter.lexicon.guard(name) is not None
        return False

    def _match(self, node: ir.Match, frame: Frame) -> bool:
        subject = self.interpreter.eval(node.subject, frame)
        self.interpreter.used("branch", node.subject, subject, frame)
        before, assumed = frame.env, frame.assumed
        ends: list[Env] = []
        exhausted = False
        for case in node.cases:
            frame.assumed = assumed
            frame.env = {**before, **dict.fromkeys(case.binds, UNKNOWN)}
            if case.target is not None:
                self.interpreter.assignment.store(case.target, subject, frame)
            if case.literal is not None:
                is_it = self.interpreter.comparisons.same(subject, self.interpreter.eval(case.literal, frame))
                if is_it is False:
                    continue
                if is_it is None:
                    form = f"{{}} == {frame.function.source(case.literal)}"
                    frame.assumed = (*assumed, Assumption(frame.function, node.subject, form=form))
            if case.guard is not None:
                self.interpreter.conditions.condition(case.guard, frame)
                frame.assume(case.guard, True)
            with self.interpreter.heap.recent.perhaps(), grounds.apart(frame):
                goes_on = self.block(case.body, frame)
            if goes_on:
                ends.append(frame.env)
            exhausted = exhausted or (case.guard is None and isinstance(case.target, ir.Name))
        frame.assumed = assumed
        if not exhausted:
            ends.append(before)
        if ends:
            frame.env = self.interpreter.merge_all(ends)
        return bool(ends)

    def _scope(self, node: ir.Scope, frame: Frame) -> bool:
        frame.scopes.update(dict.fromkeys(node.names, node.kind))
        return True

    def _import(self, node: ir.Import, frame: Frame) -> bool:
        if node.member != "*":
            frame.env[node.alias] = self.interpreter.names.imported(frame.module, node)
        return True

    def _define(self, node: ir.Define, frame: Frame) -> bool:
        value: Value = self.interpreter.calls.closure(node.code, frame)
        for decorator in reversed(node.code.decorators):
            value = self.interpreter.decorators.apply(self.interpreter.eval(decorator, frame), value, frame, decorator)
        frame.env[node.code.name] = value
        return True

    def _define_class(self, node: ir.DefineClass, frame: Frame) -> bool:
        frame.env[node.name] = self.interpreter.names.local_class(node, frame)
        return True


def _open_behind(depth: int, one: list[OpenRegion], other: list[OpenRegion] | None = None) -> list[OpenRegion]:
    """The regions that are open behind branches, of which so many were before: what both have begun is one capture,
    else what one of them has ended is ended, and what one has begun is open.
    """
    if other is None or min(len(one), len(other)) > depth:
        return one
    return min(one, other, key=len) if min(len(one), len(other)) < depth else max(one, other, key=len)


def _fails(block: ir.Block) -> bool:
    """Whether a block ends in an error: a region that comes there does not run to its end."""
    return bool(block) and isinstance(block[-1], ir.Raise)
