"""The calls of a rehearsed run: functions and classes of the project, and what Python's own functions do.

Long, because what an argument is depends on its call: bound, annotated, or made up for a caller that nobody knows.
"""

from __future__ import annotations

from typing import Any

from graphlint import values
from graphlint.finding import Hop
from graphlint.static.domain.program import Function, function_of
from graphlint.static.domain.program import Instance as Promised
from graphlint.static.index.module import ClassDefinition, Definition, Module
from graphlint.static.interpreter.caching import CACHES
from graphlint.static.interpreter.classes import Base
from graphlint.static.life.births import CACHED
from graphlint.static.life.environment import Environment
from graphlint.static.life.frames import MAX_AWAY, MAX_STEPS, Raised, Returned, Wearied
from graphlint.static.life.hooks import is_hook
from graphlint.static.life.objects import (
    PLAIN,
    Arguments,
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    MethodOf,
    Object,
    Outside,
    Symbol,
    Tensor,
    Thing,
    things_in,
)
from graphlint.static.life.questions import identity, spelt
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import is_none
from graphlint.values import UNKNOWN, Const, External, members

MAX_DEPTH = 14  # calls that nest


class Calls(Environment):
    """Evaluates the calls of one run."""

    def _call(self, node: ir.Call, frame: Frame) -> Object:
        callee = self._callee(node.func, frame)
        return self.call(callee, self._arguments(node, frame), node, frame)

    def _callee(self, node: ir.Expr, frame: Frame) -> Object:
        """What is called; a method that hardly anything but a tensor or a graph has is one of those."""
        if isinstance(node, ir.Attribute):
            owner = self.eval(node.value, frame)
            if owner is None and self.handlers:
                raise Raised  # what nobody handles is let pass: something unknown may have set it
            is_telling = type(owner) is Thing and node.attr not in owner.attributes and self.is_telling(node.attr)
            if is_telling or (isinstance(owner, Closure) and owner.is_cached):
                return MethodOf(owner, node.attr)
            return self.attribute(owner, node.attr, frame, node)
        return self.eval(node, frame)

    def _arguments(self, node: ir.Call, frame: Frame) -> Arguments:
        given = Arguments()
        for argument in node.arguments:
            value = self.eval(argument.value, frame)
            if argument.keyword is not None:
                given.keywords[argument.keyword] = value
            elif not argument.star:
                given.positional.append(value)
            elif isinstance(value, Container) and argument.star == "*" and (value.elements or not value.is_open):
                given.positional += value.elements
                given.is_open = given.is_open or value.is_open
            elif isinstance(value, Container) and argument.star == "**":
                given.keywords |= {key: held for key, held in value.keyed.values() if isinstance(key, str)}
                for key, held in value.keyed.values():
                    self.ledger.through(value, spelt(key), held)
                    if not isinstance(key, str):  # by a name that nobody knows
                        given.is_open = bool(given.keywords.setdefault("**", value))
                given.is_open = given.is_open or value.is_open
            else:
                given.is_open = True
                given.keywords.setdefault(argument.star, value)
        return given

    def call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """The result of a call."""
        self.step()
        match callee:
            case Closure(is_cached=True):
                key = (
                    callee.function.code,
                    callee.receiver,
                    *(one if isinstance(one, PLAIN) else None for one in given.all()),
                )
                if key not in self.cached:  # what nobody knows is what it was: requests are alike
                    self.cached[key] = self.run(callee, given, node, frame)
                    self.ledger.escaped.update(things_in(self.cached[key]))  # the cache holds it
                    self.ledger.answered(Call(CACHED, None, given, self.cached[key], frame.place(node)))
                return self.cached[key]
            case Closure():
                return self.run(callee, given, node, frame)
            case ClassRef():
                return self.construct(callee.definition, given, node, frame)
            case Instance():
                return self._call_instance(callee, given, node, frame)
            case MethodOf(receiver=Closure() as cached, name="cache_clear"):
                self.cleared(cached, frame, node)
                return None
            case MethodOf():
                return self.call_method(callee.receiver, callee.name, given, node, frame)
            case Outside():
                return self.call_outside(callee.name, given, node, frame)
            case Made(state={"wrapped": target}) if target is not None and self._is_scripted(frame.function):
                return self.call(target, given, node, frame)
            case Made():
                return self.call_made(callee, given, node, frame)
            case Thing():
                method = self.of_presumed(callee, "__call__", frame)
                if method is not None:
                    return self.call(method, given, node, frame)
        return self.unknown_call(callee, given, node, frame)

    def unknown_call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call that nobody can follow: it reads what it is given, and may write to it and to what it belongs to."""
        place = frame.place(node)
        values = given.all()
        called = node.func if isinstance(node, ir.Call) else None
        if isinstance(called, ir.Attribute) and called.attr in self.interpreter.lexicon.life["launching"]:
            for graph in self.ledger.graphs_behind(callee):
                self.ledger.replay(graph, place)
        self.ledger.called(callee, values, place)
        self.ledger.read(values, place, is_sure=False)
        self.ledger.may_write([*values, callee], place, callee)
        source = tuple(value for value in (*values, callee) if isinstance(value, Thing))
        numbers = tuple(value for value in values if isinstance(value, Symbol))
        return Thing(place, self.ledger.capture, source=source, numbers=numbers)

    # The project

    def of_class(self, cls: ClassDefinition, name: str, receiver: Instance | None, frame: Frame) -> Object:
        """A member of a class as its objects see it, or as it stands there."""
        if name == "__class__" and receiver is not None:
            return ClassRef(cls)
        found = self.interpreter.classes.find(cls, name)
        if found is None or isinstance(found[0], str):
            if receiver is None:
                return Thing()
            if found is not None or self.is_method_of_module(receiver, name):
                return MethodOf(receiver, name)
            receiver.attributes[name] = Thing(source=(receiver,), argument=receiver.argument)
            return receiver.attributes[name]
        owner, member = found
        method = self.bound_method(owner, member, receiver, frame)
        if method is not None:
            return method
        if isinstance(member, ClassDefinition):
            return ClassRef(member)
        value = self.interpreter.classes.class_attribute(cls, name)
        concrete = self.concrete(value) if value is not None else Thing()
        if receiver is not None and isinstance(concrete, Thing):
            receiver.attributes[name] = concrete
        return concrete

    def of_presumed(self, owner: Thing, name: str, frame: Frame) -> Object:
        """A method of something that an annotation says the class of; None for what is none, or computes a model.

        What has a method that is called back for graphs may be of the class that is tried for such objects.
        """
        if owner.presumed is None and is_hook(self.interpreter, name):
            owner.presumed = self.player.having(name)
        found = self.interpreter.classes.find(owner.presumed, name) if owner.presumed is not None else None
        if found is None or owner.presumed is None or name == "forward":
            return None
        if name == "__call__" and self._is_module(owner.presumed):
            return None
        return self.bound_method(*found, owner, frame)

    def bound_method(self, owner: Base, member: object, receiver: Object, frame: Frame) -> Object | None:
        """A method that a class of the project defines, bound to an object; None if a member is none."""
        if not isinstance(owner, ClassDefinition) or not isinstance(member, list) or not member:
            return None
        return self._method(member[-1], owner, receiver, frame) if isinstance(member[-1], Definition) else None

    def _method(self, definition: Definition, owner: ClassDefinition, receiver: Object, frame: Frame) -> Object:
        function = function_of(definition, owner)
        if function is None:
            return Thing()
        decorators = (one.func if isinstance(one, ir.Call) else one for one in function.code.decorators)
        kinds = {self.interpreter.names.qualified_name(one, function.module) for one in decorators}
        if "builtins.staticmethod" in kinds:
            return Closure(function)
        if "builtins.classmethod" in kinds:
            return Closure(function, receiver=ClassRef(owner), is_bound=True)
        closure = Closure(function, None, receiver, receiver is not None, is_cached=not CACHES.isdisjoint(kinds))
        properties = {self.interpreter.lexicon.property_made_by(kind) for kind in kinds}
        if receiver is not None and "properties" in properties:
            return self.run(closure, Arguments(), function.code, frame)
        if isinstance(receiver, Instance) and "kept" in properties:
            receiver.attributes[definition.name] = self.run(closure, Arguments(), function.code, frame)
            return receiver.attributes[definition.name]
        return closure

    def _is_scripted(self, function: Function) -> bool:
        """Whether a function is made a script, of the source of what it calls: nothing compiled is run in it."""
        scripting, names = self.interpreter.lexicon.life["scripting"], self.interpreter.names
        return any(names.qualified_name(one, function.module) in scripting for one in function.code.decorators)

    def decorated(self, closure: Closure, decorators: tuple[ir.Expr, ...], frame: Frame) -> Object:
        """A nested function behind its decorators: those of the project are called, others pass it on."""
        value: Object = closure
        for node in reversed(decorators):
            decorator = self.eval(node, frame)
            if isinstance(decorator, Closure):
                value = self.run(decorator, Arguments([value]), node, frame)
        return value

    def run(self, closure: Closure, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """Call a function of the project."""
        function = closure.function
        is_too_deep = len(frame.way) >= MAX_DEPTH or sum(f.function.code is function.code for f in frame.stack()) > 1
        if is_too_deep or _is_left_open(function.code):
            return self.unknown_call(closure.receiver, given, node, frame)
        place = frame.place(node)
        inner = Frame(
            function,
            closure.scope,
            receiver=closure.receiver,
            way=(*frame.way, Hop(place.path, place.line, place.name)),
            caller=frame,
            owner=function.owner,
        )
        if closure.is_bound:
            given = _prepended(given, closure.receiver)
        inner.given = given.all()
        self._bind(function, given, inner)
        if function.code.is_generator:
            return Made(place, self.ledger.capture, cls="<generator>", state={"frame": inner})
        asked = self.unset
        is_short = self.is_thrifty and self.limit == MAX_STEPS and self._goes_away(frame, function)
        result = self._finish_soon(inner, given, node, frame) if is_short else self._finish(inner)
        return self.turned(result, asked, function.module) if frame.function.module is self.home else result

    def _goes_away(self, frame: Frame, function: Function) -> bool:
        """Whether a call leads out of the file that the program is about, or in a region out of that which captures."""
        capture = self.ledger.capture
        home = self.home if capture is None else capture.place.function.module
        return frame.function.module is home and function.module is not home

    def _finish_soon(self, inner: Frame, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """Run what another file does, as long as it does not take long or captures."""
        self.limit = min(MAX_STEPS, self.steps + MAX_AWAY)
        try:
            return self._finish(inner)
        except Wearied:
            return self.unknown_call(inner.receiver, given, node, frame)
        finally:
            self.limit = MAX_STEPS

    def _finish(self, inner: Frame) -> Object:
        """Run the body of a frame to its end."""
        with self.ledger.activation(inner):
            try:
                self.block(inner.function.code.body, inner)
            except Returned as returned:
                return returned.value
        return None

    def _bind(self, function: Function, given: Arguments, inner: Frame) -> None:
        positional = list(given.positional)
        keywords = dict(given.keywords)
        is_entry = inner.is_entry and not self.ledger.is_whole  # a script is known to the end
        for parameter in function.code.parameters:
            name = parameter.name
            if parameter.kind == "*":
                is_open = given.is_open or is_entry  # who calls from outside may give more
                given_by_all = [] if positional or not is_entry else [self._argument(parameter, function.module)]
                inner.env[name] = Container(kind="tuple", elements=[*positional, *given_by_all], is_open=is_open)
                positional = []
            elif parameter.kind == "**":
                keyed: dict[object, tuple[object, Object]] = {
                    identity(key): (key, value) for key, value in keywords.items()
                }
                if not keyed and is_entry:
                    keyed[name] = Symbol(), self._argument(parameter, function.module)
                inner.env[name] = Container(kind="dict", keyed=keyed, is_open=given.is_open or is_entry)
            elif parameter.kind == "positional" and positional:
                inner.env[name] = self._annotated(positional.pop(0), parameter, function.module)
            elif name in keywords:
                inner.env[name] = self._annotated(keywords.pop(name), parameter, function.module)
            elif parameter.default is not None and not given.is_open:
                inner.env[name] = self.eval(parameter.default, inner.scope or self.global_frame(inner))
            else:
                inner.env[name] = self._argument(parameter, function.module)

    def _annotated(self, value: Object, parameter: ir.Parameter, module: Module) -> Object:
        """An argument; of what nobody knows, an annotation may say the class."""
        if type(value) is Thing and value.presumed is None and parameter.annotation is not None:
            promised = self.interpreter.annotations.promised(parameter.annotation, module)
            value.presumed = next((one.cls for one in members(promised) if isinstance(one, Promised)), None)
        return value

    def unknown_arguments(self, function: Function, skip: int = 0, is_flagged: bool = False) -> Arguments:
        """Something unknown for each parameter that has no default.

        Flags that have one are tried both ways where an object is made, and of what is asked to. What may be left out
        is given where nothing comes of it otherwise.
        """
        made = Arguments()
        code = function.code
        is_flagged = is_flagged or code.name == "__init__"
        made.is_open = any(p.kind == "**" for p in code.parameters) and self.player.is_any()
        for parameter in [p for p in code.parameters if p.kind in ("positional", "keyword")][skip:]:
            default = parameter.default
            if default is None:
                made.keywords[parameter.name] = self._argument(parameter, function.module)
            elif isinstance(default, ir.Literal) and isinstance(default.value, bool) and is_flagged:
                made.keywords[parameter.name] = Symbol(likely=default.value)
            elif is_none(default) and self.is_wide:
                made.keywords[parameter.name] = self._argument(parameter, function.module)
        return made

    def _argument(self, parameter: ir.Parameter, module: Module) -> Thing:
        """What a stranger gives for a parameter."""
        annotation = parameter.annotation
        promised = UNKNOWN if annotation is None else self.interpreter.annotations.promised(annotation, module)
        if all(isinstance(one, values.Tensor) for one in members(promised)):
            return Tensor(argument=parameter.name)
        return Thing(argument=parameter.name)

    def _is_module(self, cls: ClassDefinition) -> bool:
        return bool({*self.interpreter.classes.external_bases(cls)} & self.interpreter.lexicon.modules["base"])

    def construct(self, cls: ClassDefinition, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """An object of a class of the project, or the member of an enum that is meant."""
        value = given.get(0)
        asked = External(value.name) if isinstance(value, Outside) else Const(value) if isinstance(value, str) else None
        if asked is not None and self.interpreter.classes.is_enum(cls):
            meant = self.interpreter.classes.member_meant(cls, asked)
            return Thing() if meant is None else self.concrete(meant)
        bases = self.interpreter.classes.external_bases(cls)
        place = frame.place(node)
        if any(self.interpreter.entries.opens_context(base) for base in bases):
            return Made(place, self.ledger.capture, cls=next(iter(bases)), given=dict(enumerate(given.all())))
        made = Instance(place, self.ledger.capture, cls=cls, is_module=self._is_module(cls))
        return self.initialised(made, given, node, frame)

    def initialised(self, made: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Instance:
        """Run the constructor of an object."""
        found = self.interpreter.classes.find(made.cls, "__init__")
        if found is None or isinstance(found[0], str):
            return self.filled(made, given, node, frame)
        closure = self.bound_method(*found, made, frame)
        if isinstance(closure, Closure):
            self.run(closure, given, node, frame)
        return made

    def _call_instance(self, callee: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        name = "forward" if callee.is_module else "__call__"
        method = callee.attributes.get(name) or self.of_class(callee.cls, name, callee, frame)
        values, place = given.all(), frame.place(node)
        if callee.is_module:  # what is done there reads what it reads
            self.ledger.ran_module(callee, () if isinstance(method, Closure) else values, place)
        if isinstance(method, (Closure, Made)):
            result = self.call(method, given, node, frame)
        else:
            result = self.operated((callee, *values), place)
        return self.ledger.ran(callee, values, result, place) if callee.is_module else result

    def is_method_of_module(self, receiver: Instance, name: str) -> bool:
        """Whether an object has a method because it is a module of torch."""
        method = f"{self.interpreter.lexicon.base_module}.{name}"
        return receiver.is_module and self.interpreter.catalogue.find(method) is not None

    def abstract_frame(self, frame: Frame) -> Any:
        """A frame of the interpreter that stands for one of the run, for what it is asked of classes in functions."""
        made = self.interpreter.names.module_frame(frame.function.module, frame.function.first_line)
        made.function = frame.function
        return made


def _is_left_open(code: ir.Code) -> bool:
    """Whether a function leaves what it does to those that override it."""
    first = next((one for one in code.body if not _is_text(one)), None)
    raised = first.value if isinstance(first, ir.Raise) else None
    raised = raised.func if isinstance(raised, ir.Call) else raised
    return isinstance(raised, ir.Name) and raised.id == "NotImplementedError"


def _is_text(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Literal)


def _prepended(given: Arguments, value: Object) -> Arguments:
    made = Arguments([value, *given.positional], given.keywords)
    made.is_open = given.is_open
    return made
