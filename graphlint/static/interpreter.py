"""Functions in, contexts out: runs statements over abstract values, both branches where a condition is not known."""

from __future__ import annotations

from graphlint.finding import Confidence, Region
from graphlint.operations import Catalogue
from graphlint.static import ir, narrowing
from graphlint.static.attributes import Attributes
from graphlint.static.builtins import Builtins
from graphlint.static.calls import Calls
from graphlint.static.comparisons import Comparisons
from graphlint.static.decorators import Decorators
from graphlint.static.entries import Entries
from graphlint.static.expressions import Expressions
from graphlint.static.frames import Context, Env, Event, Frame, Loop, Mode, OpenRegion
from graphlint.static.instances import Instances
from graphlint.static.items import Items
from graphlint.static.logic import Logic
from graphlint.static.methods import Methods
from graphlint.static.names import Names
from graphlint.static.objects import Objects
from graphlint.static.operators import Operators
from graphlint.static.project import Project
from graphlint.static.signatures import Signatures
from graphlint.static.targets import Targets
from graphlint.static.tensors import Tensors
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Class,
    Const,
    External,
    Function,
    Host,
    Instance,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    join,
    join_all,
    limit_depth,
    members,
)

MAX_ROUNDS = 3  # of a loop body; values have settled by then, or are cut by the limits on containers
MAX_UNROLLED = 12  # loops over known constants that are run as they would run
MAX_DEPTH = 70  # calls inside calls
MAX_DEPTH_OUTSIDE = 10  # before a region only the kinds of values matter
MAX_VARIANTS = 16  # argument kinds of one function before they are taken together


class Interpreter:
    """Runs functions, each once for every kind of arguments, and remembers what came of it."""

    def __init__(self, project: Project, catalogue: Catalogue, entries: Entries) -> None:
        self.max_depth_outside = MAX_DEPTH_OUTSIDE
        self.project = project
        self.catalogue = catalogue
        self.entries = entries
        self.names = Names(self)
        self.objects = Objects(self)
        self.builtins = Builtins(self)
        self.calls = Calls(self)
        self.signatures = Signatures(self)
        self.decorators = Decorators(self)
        self.instances = Instances(self)
        self.methods = Methods(self)
        self.tensors = Tensors(self)
        self.targets = Targets(self)
        self.attributes = Attributes(self)
        self.items = Items(self)
        self.operators = Operators(self)
        self.comparisons = Comparisons(self)
        self.logic = Logic(self)
        self.expressions = Expressions(self)
        self.eval = self.expressions.eval
        self.contexts: dict[tuple[object, ...], Context] = {}
        self.variants: dict[object, int] = {}
        self.regions: dict[tuple[str, str, int, str | None], OpenRegion] = {}

    # Functions

    def run(
        self,
        function: Function,
        bound: Env,
        mode: Mode,
        depth: int,
        constructing: Instance | None,
        around: frozenset[Value] = frozenset(),
    ) -> Context:
        """The context of a function with these parameters; a call that is already under way has no result yet."""
        limit = MAX_DEPTH_OUTSIDE if mode is Mode.OUTSIDE else MAX_DEPTH
        versions = tuple(self.objects.version(v) for v in bound.values() if isinstance(v, Instance))
        receiver = next((value for value in bound.values() if isinstance(value, Instance)), None)
        where = (function, receiver)
        key = (function, tuple(bound.items()), mode, versions, constructing, around)
        context = self.contexts.get(key)
        if context is not None:
            return context
        if self.variants.get((where, mode), 0) >= MAX_VARIANTS:
            bound = {name: widen(value) for name, value in bound.items()}
            key = (where, tuple(bound.items()), mode, None, constructing, around)
            context = self.contexts.get(key)
            if context is not None:
                return context
        self.variants[(where, mode)] = self.variants.get((where, mode), 0) + 1
        name = f"{function.module.name}:{function.qualname}"
        context = Context(name, str(function.module.path))
        if depth > limit:
            return context
        self.contexts[key] = context
        frame = Frame(function, context, mode, depth, around, dict(bound))
        frame.constructing = constructing
        self.execute(frame, function.code.body)
        return context

    def execute(self, frame: Frame, body: ir.Block) -> None:
        """Run the body and settle what the frame's context says about it."""
        context = frame.context
        if self.block(body, frame):
            frame.returns.append(NONE)
        context.left_open = list(frame.regions)
        if frame.function.code.is_generator:
            context.result = Sequence("iterator", None, join_all(frame.yields) if frame.yields else UNKNOWN)
        else:
            context.result = limit_depth(join_all(frame.returns)) if frame.returns else UNKNOWN
        context.finished = True
        if frame.constructing is not None:
            self.objects.settle(frame.constructing, frame.env)

    # Regions

    def open_region(self, frame: Frame, node: ir.Node, kind: str, mode: Mode, foreign: bool = False) -> OpenRegion:
        """Begin a region here; the same place is the same region for every context of its function."""
        region = self.region_at(frame, node, kind, mode, foreign)
        if frame.mode is not Mode.OUTSIDE:
            frame.sink.calls.setdefault(region.context, frame.hop(node))
        frame.regions.append(region)
        return region

    def region_at(self, frame: Frame, node: ir.Node, kind: str, mode: Mode, foreign: bool = False) -> OpenRegion:
        path, line = frame.context.path, frame.line(node)
        key = (kind, path, line, None)
        region = self.regions.get(key)
        if region is None:
            context = Context(frame.context.function, path)
            described = Region(kind, path, line, None, mode is Mode.SOFT)
            region = self.regions[key] = OpenRegion(described, context, mode, foreign)
        return region

    def close_region(self, frame: Frame) -> None:
        if frame.regions:
            frame.regions.pop()
        else:
            frame.context.closes += 1

    def event(
        self,
        frame: Frame,
        node: ir.Node,
        effect: str,
        confidence: Confidence = Confidence.HIGH,
        message: str | None = None,
        help: str | None = None,
    ) -> None:
        """Record that an operation has an effect, if a region is open."""
        if frame.mode is not Mode.OUTSIDE:
            if frame.doubtful:
                confidence = Confidence(max(confidence - 1, Confidence.LOW))
            event = Event(effect, frame.span(node), frame.source(node), confidence, message, help)
            frame.sink.add(event)

    # Statements: each answers whether control goes on behind it

    def block(self, body: ir.Block, frame: Frame) -> bool:
        return all(_STATEMENTS[type(statement)](self, statement, frame) for statement in body)

    def _assign(self, node: ir.Assign, frame: Frame) -> bool:
        if node.value is None:
            return True
        value = self.eval(node.value, frame)
        if isinstance(value, Unknown) and node.annotation is not None:
            value = self.names.annotated(node.annotation, frame.module)
        for target in node.targets:
            self.targets.store(target, value, frame)
        return True

    def _augmented(self, node: ir.AugAssign, frame: Frame) -> bool:
        left, right = self.eval(node.target, frame), self.eval(node.value, frame)
        value = self.operators.apply(node, node.operator, left, right, frame)
        in_place = all(isinstance(member, Tensor) for member in members(left))
        self.targets.store(node.target, left if in_place else value, frame)
        return True

    def _evaluate(self, node: ir.Evaluate, frame: Frame) -> bool:
        self.eval(node.value, frame)
        return True

    def _return(self, node: ir.Return, frame: Frame) -> bool:
        frame.returns.append(NONE if node.value is None else self.eval(node.value, frame))
        return False

    def _raise(self, node: ir.Raise, frame: Frame) -> bool:
        if node.value is not None:
            # What is raised ends the capture by itself: how the message is put together does not matter.
            regions, mode = frame.regions, frame.outer_mode
            frame.regions, frame.outer_mode = [], Mode.OUTSIDE
            self.eval(node.value, frame)
            frame.regions, frame.outer_mode = regions, mode
        return False

    def _assert(self, node: ir.Assert, frame: Frame) -> bool:
        outcome = self.logic.condition(node.test, frame)
        if node.message is not None and outcome is False:
            return False
        frame.env = narrowing.narrow(self, node.test, True, frame)
        return True

    def _delete(self, node: ir.Delete, frame: Frame) -> bool:
        for target in node.targets:
            if isinstance(target, ir.Name):
                frame.env.pop(target.id, None)
        return True

    def _if(self, node: ir.If, frame: Frame) -> bool:
        outcome = self.logic.condition(node.test, frame)
        frame.tests.append(node.test)
        goes_on = self._branches(node, outcome, frame)
        frame.tests.pop()
        return goes_on

    def _branches(self, node: ir.If, outcome: bool | None, frame: Frame) -> bool:
        if outcome is not None:
            frame.env = narrowing.narrow(self, node.test, outcome, frame)
            return self.block(node.body if outcome else node.orelse, frame)
        before = frame.env
        frame.env = narrowing.narrow(self, node.test, True, frame)
        body_goes_on = self.block(node.body, frame)
        after_body, frame.env = frame.env, before
        frame.env = narrowing.narrow(self, node.test, False, frame)
        orelse_goes_on = self.block(node.orelse, frame)
        if body_goes_on:
            frame.env = self.merge(after_body, frame.env) if orelse_goes_on else after_body
        return body_goes_on or orelse_goes_on

    def merge(self, left: Env, right: Env) -> Env:
        """The environment where two paths meet; what only one of them has bound stays bound."""
        if left is right:
            return left
        merged = dict(left)
        for key, value in right.items():
            known = left.get(key)
            if known is None:
                merged[key] = value if isinstance(key, str) else self.objects.joined(key, value)
            elif known is not value:
                merged[key] = join(known, value)
        for key, value in left.items():
            if not isinstance(key, str) and key not in right:
                merged[key] = self.objects.joined(key, value)
        return merged

    def merge_all(self, envs: list[Env]) -> Env:
        merged = envs[0]
        for env in envs[1:]:
            merged = self.merge(merged, env)
        return merged

    def _for(self, node: ir.For, frame: Frame) -> bool:
        iterable = self.eval(node.iterable, frame)
        if isinstance(iterable, Sequence) and iterable.elements is not None and len(iterable.elements) <= MAX_UNROLLED:
            if all(_is_plain(element) for element in iterable.elements):
                return self.unrolled(node, iterable.elements, frame)
        element = self.expressions.iterate(node.iterable, iterable, frame)
        return self.loop(node.body, node.orelse, frame, lambda: self.targets.store(node.target, element, frame))

    def unrolled(self, node: ir.For, elements: tuple[Value, ...], frame: Frame) -> bool:
        """Run a loop over a few known constants as it would run."""
        loop = Loop()
        frame.loops.append(loop)
        goes_on = True
        for element in elements:
            self.targets.store(node.target, element, frame)
            loop.continues.clear()
            goes_on = self.block(node.body, frame)
            ends = [*([frame.env] if goes_on else []), *loop.continues]
            goes_on = bool(ends)
            if not ends:
                break
            frame.env = self.merge_all(ends)
        frame.loops.pop()
        return self._leave_loop(node.orelse, loop, frame, goes_on)

    def _leave_loop(self, orelse: ir.Block, loop: Loop, frame: Frame, goes_on: bool) -> bool:
        """Behind a loop: where it ended by itself, and where it was left."""
        goes_on = goes_on and self.block(orelse, frame)
        exits = [*([frame.env] if goes_on else []), *loop.breaks]
        if exits:
            frame.env = self.merge_all(exits)
        return bool(exits)

    def _while(self, node: ir.While, frame: Frame) -> bool:
        outcomes: list[bool | None] = []

        def enter() -> bool:
            outcomes.append(self.logic.condition(node.test, frame, effect="tensor-loop"))
            if outcomes[-1] is not False:
                frame.env = narrowing.narrow(self, node.test, True, frame)
            return outcomes[-1] is not False

        return self.loop(node.body, node.orelse, frame, enter, endless=lambda: outcomes[0] is True)

    def loop(self, body, orelse, frame, enter, endless=lambda: False) -> bool:  # type: ignore[no-untyped-def]
        """Run a body until its environment settles."""
        before = frame.env
        env = before
        loop = Loop()
        frame.loops.append(loop)
        for _ in range(MAX_ROUNDS):
            frame.env = dict(env)
            if enter() is False:
                break
            loop.continues.clear()
            ends = [env, *([frame.env] if self.block(body, frame) else []), *loop.continues]
            merged = {key: limit_depth(value) for key, value in self.merge_all(ends).items()}
            if merged == env:
                break
            env = merged
        frame.loops.pop()
        frame.env = env
        if endless():
            if not loop.breaks:
                return False
            frame.env = self.merge_all(loop.breaks)
            return True
        return self._leave_loop(orelse, loop, frame, True)

    def _jump(self, node: ir.Jump, frame: Frame) -> bool:
        if node.kind == "pass":
            return True
        if frame.loops:
            loop = frame.loops[-1]
            (loop.breaks if node.kind == "break" else loop.continues).append(frame.env)
        return False

    def _with(self, node: ir.With, frame: Frame) -> bool:
        around = frame.around
        managers: list[tuple[ir.Expr, Value, int]] = []
        for expression, target in node.items:
            manager = self.eval(expression, frame)
            managers.append((expression, manager, len(frame.regions)))
            entered = self.entries.enter(self, expression, manager, frame)
            if target is not None:
                self.targets.store(target, entered, frame)
        goes_on = self.block(node.body, frame)
        for expression, manager, depth in reversed(managers):
            # What `__exit__` closes is the region of its own manager; it ends here in any case.
            outside, closes = frame.regions[:depth], frame.context.closes
            self.methods.special(manager, "__exit__", Arguments((NONE, NONE, NONE)), expression, frame)
            frame.regions, frame.context.closes = outside, closes
        frame.around = around
        return goes_on

    def _try(self, node: ir.Try, frame: Frame) -> bool:
        before = dict(frame.env)
        returned = len(frame.returns)
        body_goes_on = self.block(node.body, frame)
        after_body = frame.env
        ends: list[Env] = []
        if body_goes_on and self.block(node.orelse, frame):
            ends.append(frame.env)
        answers = frame.returns[returned:]
        # A body that comes to a constant, as `try: return is_compiling()` does, did not fail on the way.
        settled = not body_goes_on and answers and all(isinstance(answer, Const) for answer in answers)
        for handler in () if settled else node.handlers:
            frame.env = self.merge(before, after_body)
            if handler.name is not None:
                frame.env = {**frame.env, handler.name: Host("object")}
            if self.block(handler.body, frame):
                ends.append(frame.env)
        frame.env = self.merge_all(ends) if ends else self.merge(before, after_body)
        return self.block(node.final, frame) and bool(ends)

    def _match(self, node: ir.Match, frame: Frame) -> bool:
        subject = self.eval(node.subject, frame)
        before = frame.env
        ends: list[Env] = []
        exhausted = False
        for case in node.cases:
            frame.env = {**before, **dict.fromkeys(case.binds, UNKNOWN)}
            if case.target is not None:
                self.targets.store(case.target, subject, frame)
            if case.literal is not None and self.comparisons.same(subject, self.eval(case.literal, frame)) is False:
                continue
            if case.guard is not None:
                self.logic.condition(case.guard, frame)
            if self.block(case.body, frame):
                ends.append(frame.env)
            exhausted = exhausted or (case.guard is None and isinstance(case.target, ir.Name))
        if not exhausted:
            ends.append(before)
        if ends:
            frame.env = self.merge_all(ends)
        return bool(ends)

    def _scope(self, node: ir.Scope, frame: Frame) -> bool:
        frame.scopes.update(dict.fromkeys(node.names, node.kind))
        return True

    def _import(self, node: ir.Import, frame: Frame) -> bool:
        if node.member != "*":
            frame.env[node.alias] = self.names.imported(frame.module, node)
        return True

    def _define(self, node: ir.Define, frame: Frame) -> bool:
        value: Value = self.calls.closure(node.code, frame)
        for decorator in reversed(node.code.decorators):
            value = self.decorators.apply(self.eval(decorator, frame), value, frame, decorator)
        frame.env[node.code.name] = value
        return True

    def _define_class(self, node: ir.DefineClass, frame: Frame) -> bool:
        frame.env[node.name] = self.names.local_class(node.name, frame)
        return True


def _is_plain(value: Value) -> bool:
    """A constant, a function or class, or a tuple of these."""
    if isinstance(value, Sequence):
        return value.elements is not None and any(_is_plain(element) for element in value.elements)
    return isinstance(value, (Const, External, Function, Class))


def widen(value: Value) -> Value:
    """A kind of value that stands for many; how many there are of them in a tuple stays."""
    if isinstance(value, Const) and value.value is not None and not isinstance(value.value, str):
        return Host(type(value.value).__name__)
    if isinstance(value, Sequence):
        if value.elements is None or value.kind != "tuple":
            prefix = tuple(map(widen, value.prefix)) if value.kind == "tuple" else ()
            return Sequence(value.kind, None, widen(value.any_element), prefix)
        return Sequence(value.kind, tuple(map(widen, value.elements)))
    if isinstance(value, Mapping):
        items = tuple((key, widen(held)) for key, held in value.items)
        return Mapping(items, None if value.other is None else widen(value.other))
    return value


_STATEMENTS = {
    ir.Assign: Interpreter._assign, ir.AugAssign: Interpreter._augmented, ir.Evaluate: Interpreter._evaluate,
    ir.Return: Interpreter._return, ir.Raise: Interpreter._raise, ir.Assert: Interpreter._assert,
    ir.Delete: Interpreter._delete, ir.If: Interpreter._if, ir.For: Interpreter._for, ir.While: Interpreter._while,
    ir.Jump: Interpreter._jump, ir.With: Interpreter._with, ir.Try: Interpreter._try, ir.Match: Interpreter._match,
    ir.Scope: Interpreter._scope, ir.Import: Interpreter._import, ir.Define: Interpreter._define,
    ir.DefineClass: Interpreter._define_class,
}  # fmt: skip
