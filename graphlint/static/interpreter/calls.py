"""A callable and arguments in, a result out: functions are run, whatever lies outside of the project is looked up.

Long, because what is called can be of many kinds, and each of them is called in its own way.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.rulebook.lexicon import package_of
from graphlint.rulebook.operators import OPERATORS
from graphlint.static.domain.contexts import Context, Frame, MadeCall, Mode, Unresolved, dispatched, reachable
from graphlint.static.domain.program import (
    APPLY,
    Bound,
    Class,
    Function,
    Graphed,
    Instance,
    Method,
    ModuleValue,
    Partial,
    Super,
)
from graphlint.static.interpreter.annotations import PROMISED_CALLABLE
from graphlint.static.interpreter.custom_operators import CustomOperators
from graphlint.static.interpreter.decorators import METHOD_KINDS
from graphlint.static.interpreter.dispatching import DISPATCHING, Dispatching
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.models.inputs import ANYTHING
from graphlint.static.models.uses import is_tensor
from graphlint.static.syntax import ir
from graphlint.static.writes.uses import CALLED
from graphlint.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    ExternalObject,
    Host,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.queries import device_tensor, truth

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

MAX_TARGETS = 24  # functions that one call may go to
SKIM_DEPTH = 3  # calls that are followed for the kinds of values alone


class Calls:
    """Everything that happens between a call and its result."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.closures: list[Function] = []
        self.operators = CustomOperators(interpreter)
        self.dispatching = Dispatching(interpreter)

    # Definitions

    def closure(self, code: ir.Code, frame: Frame) -> Function:
        """A nested function with the values that it reads from around it."""
        outer = frame.function
        held = {name: value for name, value in outer.closure if name in code.loads}
        own = {name: frame.env[name] for name in code.loads if name in frame.env}
        held.update(own)
        fresh = outer.fresh.union(own) if frame.in_region and not frame.regions else outer.fresh.difference(own)
        if outer.code is MODULE_CODE:
            held = {}
        qualname = code.name if outer.code is MODULE_CODE else f"{outer.qualname}.<locals>.{code.name}"
        closed = tuple(sorted(held.items()))
        made = Function(code, outer.module, qualname, outer.first_line, outer.owner, closed, fresh.intersection(held))
        if not frame.in_region:
            self.closures.append(made)
        return made

    def bound_since(self, made: Function, frame: Frame) -> Function:
        """A nested function where its name is read: with what the function around it has bound since it defined it."""
        is_own = made.is_nested and made.qualname == f"{frame.function.qualname}.<locals>.{made.code.name}"
        if not is_own:
            return made
        known = {made.code.name, *(name for name, _ in made.closure)}
        late = {name: frame.env[name] for name in made.code.loads - known if name in frame.env}
        if not late:
            return made
        fresh = made.fresh.union(late) if frame.in_region and not frame.regions else made.fresh
        return replace(made, closure=tuple(sorted((*made.closure, *late.items()))), fresh=fresh)

    # Calls

    def call(self, target: Value, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The result of calling a value."""
        interpreter = self.interpreter
        targets = list(members(target))
        if len(targets) > 1:
            functions = [t for t in targets if t != NONE and not isinstance(t, (Const, Host))]
            taking = [t for t in functions if self.takes(t, arguments)]  # none of the others is what is called here
            functions = interpreter.signatures.meant(taking or functions, arguments)[:MAX_TARGETS]
            callee = node.func if node is not None else None
            each = dispatched(functions, callee, frame, {*interpreter.unnamed, *filter(self._is_for_host, functions)})
            result = union(self.call(t, arguments, node, frame) for t in each) if functions else UNKNOWN
            frame.raised.discard(node)
            return result
        target = targets[0]
        region = interpreter.capture.awaiting(target, frame)
        if isinstance(target, Graphed):
            target = target.function
        if region is not None:
            frame.enter((region,))
            result = self.call(target, arguments, node, frame)
            interpreter.close_region(frame)
            return result
        match target:
            case Function():
                # Where the call is a TypeError, this is not what is called.
                if self.takes(target, arguments) or interpreter.decorators.may_alter_arguments(target):
                    return self.call_function(target, arguments, node, frame)
                self.unresolved(node, frame, arguments)
            case Bound():
                return self._call_bound(target, arguments, node, frame)
            case Method():
                return interpreter.methods.call(target.receiver, target.name, arguments, node, frame)
            case External():
                return self.call_external(target.name, arguments, node, frame)
            case Class():
                return interpreter.instances.construct(target.definition, arguments, node, frame)
            case Instance() if self._captures_again(target, frame):
                self.unresolved(node, frame, arguments)
            case Instance():
                return interpreter.instances.call(target, arguments, node, frame)
            case Partial():
                return self.call(target.function, _merged(target, arguments), node, frame)
            case ExternalObject():
                result = self.call_external_object(target, arguments, node, frame)
                return interpreter.modules.hooks.run(target, arguments, result, node, frame)
            case Sequence(kind="sequential"):
                return interpreter.instances.call_chain(target, arguments, node, frame)
            case Unknown() | Super() | ModuleValue():
                self.unresolved(node, frame, arguments)
        return UNKNOWN

    def _captures_again(self, target: Instance, frame: Frame) -> bool:
        """Whether what a region calls would open it once more: who captures what it holds is no part of that."""
        called = self.interpreter.instances.called(target) if frame.regions else None
        return called is not None and frame.function in members(called)

    def _is_for_host(self, target: Value) -> bool:
        """Whether one of several functions says by its name that it is for tensors on the host."""
        function = target.function if isinstance(target, Bound) else target
        named = function.code.name if isinstance(function, Function) else ""
        return self.interpreter.lexicon.place_named(named) is Place.HOST

    def takes(self, target: Value, arguments: Arguments) -> bool:
        """Whether a value, if it is of the project, can be called with these arguments."""
        match target:
            case Function():
                return self.interpreter.signatures.fits(target, arguments)
            case Bound(function=Function()):
                return self.takes(target.function, arguments.prepend(target.receiver))
            case Instance():
                method = self.interpreter.instances.called(target)
                return method is None or any(self.takes(m, arguments.prepend(target)) for m in members(method))
            case Class():
                constructor = self.interpreter.classes.method(target.definition, "__init__")
                made = arguments.prepend(target)
                return constructor is None or any(self.takes(member, made) for member in members(constructor))
        return True

    def unresolved(self, node: ir.Call | None, frame: Frame, arguments: Arguments | None = None) -> None:
        """Count a call that could not be followed; it is kept with its arguments where nobody knows the callee."""
        if not frame.in_region:
            self.interpreter.placements.unknown(node, arguments, frame)
        elif node is not None:
            self.interpreter.used(CALLED, node.func, UNKNOWN, frame)
            if arguments is None or any(device_tensor(value) is not None for value in arguments.all_values()):
                for argument in node.arguments:
                    self.interpreter.used("handed", argument.value, TRUE, frame)
            dotted = node.func.value if isinstance(node.func, ir.Attribute) else None
            around = dict(frame.function.closure) | frame.env
            owner = around.get(dotted.id, UNKNOWN) if isinstance(dotted, ir.Name) else UNKNOWN
            made = MadeCall(node, arguments, frame.kept()) if arguments is not None else None
            found = Unresolved(frame.function.source(node.func), node.func, owner, made)
            frame.sink.unresolved.setdefault(frame.span(node), found)

    def _call_bound(self, target: Bound, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        function = target.function
        if function == APPLY and isinstance(target.receiver, Class):
            return self.interpreter.methods.apply(target.receiver.definition, arguments, node, frame)
        if isinstance(function, External):
            if function.name == "contextlib.contextmanager":
                held = Partial(target.receiver, arguments.positional, arguments.keywords)
                return ExternalObject("contextlib.contextmanager", (("generator", held),))
            if function.name in METHOD_KINDS:
                return self.call(target.receiver, arguments, node, frame)
            return self.call_external_method(function.name, target.receiver, arguments, node, frame)
        if isinstance(function, Bound) and isinstance(function.function, External):
            return self._call_bound(function, arguments.prepend(target.receiver), node, frame)
        return self.call(function, arguments.prepend(target.receiver), node, frame)

    def call_function(
        self,
        function: Function,
        arguments: Arguments,
        node: ir.Call | None,
        frame: Frame,
        constructing: Instance | None = None,
    ) -> Value:
        """Run a function of the project."""
        result = self.context(function, arguments, node, frame, constructing).result
        name = f"{function.module.name}.{function.qualname}"
        answers = self.interpreter.lexicon.guard(name)
        if answers is not None and node is not None and frame.in_region:
            self.interpreter.traces.guarded(name, node, frame)
        return result if answers is None or truth(result) is not None else answers[frame.mode.value]

    def context(
        self,
        function: Function,
        arguments: Arguments,
        node: ir.Call | None,
        frame: Frame,
        constructing: Instance | None = None,
    ) -> Context:
        """The context of a call, tied to the one that makes it; regions that it leaves open stay open here."""
        bound = self.interpreter.signatures.bind(function, arguments)
        depth = frame.depth + (not function.is_nested)
        around = frame.surroundings
        if not frame.in_region:
            around = self.interpreter.placements.around(function, around)
        context = self.interpreter.run(function, bound, frame.mode, depth, constructing, around)
        if frame.in_region:
            frame.sink.reach(context, frame.site(node), frame.assumptions)
            self.interpreter.optimizers.stepped(function, context, node, frame)
            self.interpreter.traces.called(function, context, node, frame)
            if context.raises and node is not None:
                frame.raised.add(node)
        if node is not None and context.open_at_yield:
            frame.suspended[node] = context.open_at_yield
        for _ in range(context.closes):
            self.interpreter.close_region(frame)
        frame.enter(context.left_open)
        return context

    def run_promised(
        self, function: Function, receiver: Value | None, mode: Mode, frame: Frame | None = None
    ) -> Context:
        """Run a function with the arguments that its signature promises."""
        arguments = self._promised(function, receiver)
        if frame is None:
            frame = self.interpreter.names.module_frame(function.module, function.first_line)
            frame.outer_mode = mode
            frame.depth = self.interpreter.max_depth_outside - SKIM_DEPTH if mode is Mode.OUTSIDE else 0
        return self.context(function, arguments, None, frame)

    def run_every_branch(self, function: Function, receiver: Value | None) -> Context:
        """Run a function before a region, as its signature promises, with both branches of each of its conditions."""
        bound = self.interpreter.signatures.bind(function, self._promised(function, receiver))
        context = Context(f"{function.module.name}:{function.qualname}", str(function.module.path))
        depth = self.interpreter.max_depth_outside - SKIM_DEPTH
        around = self.interpreter.placements.around(function, frozenset())
        frame = Frame(function, context, Mode.OUTSIDE, depth, around, bound, found_before=set(self.interpreter.regions))
        self.interpreter.execute(frame, function.code.body)
        return context

    def _promised(self, function: Function, receiver: Value | None) -> Arguments:
        """Arguments of which nothing is known but what they are used for; those by keyword alone may be left out."""
        given: list[tuple[str, Value]] = []
        for parameter in function.code.parameters[receiver is not None :]:
            if parameter.kind == "keyword" and parameter.default is not None:
                default = self.interpreter.signatures.default(parameter, function)
                given.append((parameter.name, union((UNKNOWN, default))))
            is_told = parameter.annotation is not None or parameter.default is not None or parameter.kind in ("*", "**")
            if not is_told and is_tensor(self.interpreter, function, parameter.name):
                given.append((parameter.name, Tensor(Place.ANYWHERE)))
        return Arguments(() if receiver is None else (receiver,), tuple(given), UNKNOWN, UNKNOWN)

    def run_backward(self, node: ir.Call | None, frame: Frame) -> None:
        """A backward pass runs the `backward` of the autograd functions that were applied on the way here."""
        if not frame.in_region:
            return
        for applied in dict.fromkeys(cls for context, _ in reachable(frame.sink) for cls in context.applied):
            method = self.interpreter.classes.method(applied.definition, "backward")
            gradients = Tensor(Place.DEVICE, None, None, Confidence.HIGH)
            for function in members(method) if method is not None else ():
                bound = self.interpreter.attributes.bind(function, applied, frame)
                context = self.interpreter.classes.applied_as(applied.definition)
                self.call(bound, Arguments((context,), (), gradients), node, frame)

    # Outside of the project

    def call_external(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call a function or class outside the project."""
        interpreter = self.interpreter
        if name in METHOD_KINDS and arguments.positional:
            return Bound(External(name), arguments.positional[0])
        handled = interpreter.capture.call(name, arguments, node, frame)
        if handled is None:
            handled = interpreter.builtins.call(name, arguments, node, frame)
        if handled is None:
            handled = interpreter.tensors.call_operation(name, None, arguments, node, frame)
        if handled is None and name.startswith(OPERATORS):
            handled = self._custom_operator(name, arguments, node, frame)
        if handled is None:
            if not self.is_familiar(name):
                self.unresolved(node, frame)
            for argument in arguments.all_values():
                self._escape(argument, node, frame)
            handled = interpreter.builtins.made_by_unknown(name, arguments)
        interpreter.traces.drawn(name, node, handled, frame)
        return handled

    def _custom_operator(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """Call an operator that the program registers; None if it has none of that name."""
        functions = self.operators.implementations(name)
        return self.call(union(functions), arguments, node, frame) if functions else None

    def _escape(self, argument: Value, node: ir.Call | None, frame: Frame) -> None:
        """A function handed to something that is not followed may be called there."""
        if not frame.in_region:
            return
        for member in members(argument):
            if isinstance(member, Function) and member.is_nested:
                self.context(member, ANYTHING, node, frame)

    def call_external_method(
        self, name: str, receiver: Value, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method of an external object, or one that a project class inherits from an external class."""
        interpreter = self.interpreter
        interpreter.traces.stepped(name, receiver, node, frame)
        handled = interpreter.capture.call_method(name, receiver, arguments, node, frame)
        if handled is None:
            handled = interpreter.builtins.guard(name, frame)
        if handled is None:
            handled = interpreter.modules.call_method(name, receiver, arguments, node, frame)
        if handled is None:
            handled = interpreter.tensors.call_operation(name, receiver, arguments, node, frame)
        if handled is None and isinstance(receiver, ExternalObject):
            if interpreter.lexicon.host_state["generators"].match(receiver.cls):
                handled = Host("object")
                interpreter.traces.drawn(name, node, handled, frame)
            elif self._is_any_module(receiver):
                self.unresolved(node, frame, arguments)
            elif not self.is_familiar(receiver.cls):
                self.unresolved(node, frame)
        return UNKNOWN if handled is None else handled

    def call_external_object(
        self, target: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        if target.cls == "functools.lru_cache":
            return self.interpreter.decorators.caches.call(target, arguments, node, frame)
        if target.cls in DISPATCHING:
            return self.dispatching.call(target, arguments, node, frame)
        if target.cls == PROMISED_CALLABLE:
            self.unresolved(node, frame, arguments)
            return target.argument("result") or UNKNOWN
        operation = self.interpreter.catalogue.call(target.cls)
        if operation is not None:
            return self.interpreter.tensors.apply(operation, target, arguments, node, frame)
        lexicon = self.interpreter.lexicon
        if self._is_any_module(target):
            self.unresolved(node, frame, arguments)
            return self.interpreter.tensors.like_arguments(arguments, frame)
        if lexicon.is_module(target.cls) or self.interpreter.instances.is_chain(target.cls):
            return self.interpreter.tensors.like_arguments(arguments, frame)
        if not lexicon.is_catalogued(target.cls):
            self.unresolved(node, frame)
        return UNKNOWN

    def _is_any_module(self, target: ExternalObject) -> bool:
        """Whether an annotation promised no more than a module: it is called by what its class is derived from."""
        return target.cls in self.interpreter.lexicon.modules["base"] and not target.arguments

    def is_familiar(self, name: str) -> bool:
        """Whether a call of something outside the project that nobody knows is no hole."""
        if name.startswith(OPERATORS):
            namespace = name.removeprefix(OPERATORS).partition(".")[0]
            return self.interpreter.lexicon.operators["own"].match(namespace) is not None
        return package_of(name) in sys.stdlib_module_names or self.interpreter.lexicon.is_familiar(name)


def _merged(partial: Partial, arguments: Arguments) -> Arguments:
    """The arguments that a partial was made with, and those that it is called with."""
    keywords = dict(partial.keywords) | dict(arguments.keywords)
    positional = partial.arguments + arguments.positional
    return replace(arguments, positional=positional, keywords=tuple(keywords.items()))
