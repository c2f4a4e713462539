"""The calls of a rehearsed run: functions and classes of the project, and what Python's own functions do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphlint.finding import Hop
from graphlint.static.domain.program import Function
from graphlint.static.index.module import ClassDefinition, Definition
from graphlint.static.interpreter.classes import Base
from graphlint.static.life.frames import Returned
from graphlint.static.life.objects import (
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
    Place,
    Symbol,
    Tensor,
    Thing,
)
from graphlint.static.life.operations import Operations
from graphlint.static.life.questions import identity
from graphlint.static.syntax import ir
from graphlint.values import External

MAX_DEPTH = 14  # calls that nest
MAX_ROUNDS = 4  # of a loop whose rounds are known
UNKNOWN_ROUNDS = 2  # of one whose rounds are not
_COPYING = frozenset({"list", "tuple", "sorted", "set", "reversed", "iter", "dict"})


class Calls(Operations):
    """Evaluates the calls of one run."""

    def _call(self, node: ir.Call, frame: Frame) -> Object:
        callee = self._callee(node.func, frame)
        return self.call(callee, self._arguments(node, frame), node, frame)

    def _callee(self, node: ir.Expr, frame: Frame) -> Object:
        """What is called; a method that hardly anything but a tensor or a graph has is one of those."""
        if isinstance(node, ir.Attribute):
            owner = self.eval(node.value, frame)
            if type(owner) is Thing and node.attr not in owner.attributes and self.is_telling(node.attr):
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
            elif isinstance(value, Container) and not value.is_open and argument.star == "*":
                given.positional += value.elements
            elif isinstance(value, Container) and argument.star == "**":
                given.keywords |= {key: held for key, held in value.keyed.values() if isinstance(key, str)}
                given.is_open = given.is_open or value.is_open
            else:
                given.is_open = True
                given.keywords.setdefault(argument.star, value)
        return given

    def call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """The result of a call."""
        self.step()
        match callee:
            case Closure():
                return self.run(callee, given, node, frame)
            case ClassRef():
                return self.construct(callee.definition, given, node, frame)
            case Instance():
                return self._call_instance(callee, given, node, frame)
            case MethodOf():
                return self.call_method(callee.receiver, callee.name, given, node, frame)
            case Outside():
                return self.call_outside(callee.name, given, node, frame)
            case Made():
                return self.call_made(callee, given, node, frame)
        return self.unknown_call(callee, given, node, frame)

    def unknown_call(self, callee: Object, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """A call that nobody can follow: it reads what it is given, and may write to it and to what it belongs to."""
        place = frame.place(node)
        values = given.all()
        self.ledger.called(callee, values, place)
        self.ledger.read(values, place, is_sure=False)
        self.ledger.may_write([*values, callee], place, callee)
        source = tuple(value for value in (*values, callee) if isinstance(value, Thing))
        return Thing(place, self.ledger.capture, source=source)

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
            receiver.attributes[name] = Thing(argument=receiver.argument)
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

    def bound_method(self, owner: Base, member: object, receiver: Object, frame: Frame) -> Object | None:
        """A method that a class of the project defines, bound to an object; None if a member is none."""
        if not isinstance(owner, ClassDefinition) or not isinstance(member, list) or not member:
            return None
        return self._method(member[-1], owner, receiver, frame) if isinstance(member[-1], Definition) else None

    def _method(self, definition: Definition, owner: ClassDefinition, receiver: Object, frame: Frame) -> Object:
        code = definition.code
        if code is None:
            return Thing()
        function = Function(code, definition.module, definition.qualname, definition.segment.first, owner)
        kinds = {self._decorator(one, function) for one in code.decorators}
        if "builtins.staticmethod" in kinds:
            return Closure(function)
        if "builtins.classmethod" in kinds:
            return Closure(function, receiver=ClassRef(owner), is_bound=True)
        closure = Closure(function, receiver=receiver, is_bound=receiver is not None)
        if receiver is not None and kinds & {"builtins.property", "functools.cached_property"}:
            return self.run(closure, Arguments(), code, frame)
        return closure

    def _decorator(self, node: ir.Expr, function: Function) -> str:
        """The qualified name of a decorator, or of what makes it."""
        named = node.func if isinstance(node, ir.Call) else node
        value = self.interpreter.names.static_value(named, function.module)
        return value.name if isinstance(value, External) else ""

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
        if len(frame.way) >= MAX_DEPTH or sum(f.function.code is function.code for f in frame.stack()) > 1:
            return self.unknown_call(None, given, node, frame)
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
        return self._finish(inner)

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
        for parameter in function.code.parameters:
            name = parameter.name
            if parameter.kind == "*":
                inner.env[name] = Container(kind="tuple", elements=positional, is_open=given.is_open)
                positional = []
            elif parameter.kind == "**":
                keyed = {identity(key): (key, value) for key, value in keywords.items()}
                inner.env[name] = Container(kind="dict", keyed=keyed, is_open=given.is_open)
            elif parameter.kind == "positional" and positional:
                inner.env[name] = positional.pop(0)
            elif name in keywords:
                inner.env[name] = keywords.pop(name)
            elif parameter.default is not None and not given.is_open:
                inner.env[name] = self.eval(parameter.default, inner.scope or self.global_frame(inner))
            else:
                inner.env[name] = Thing()

    def construct(self, cls: ClassDefinition, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """An object of a class of the project."""
        bases = self.interpreter.classes.external_bases(cls)
        place = frame.place(node)
        if any(self.interpreter.entries.opens_context(base) for base in bases):
            return Made(place, self.ledger.capture, cls=next(iter(bases)), given=dict(enumerate(given.all())))
        modules = self.interpreter.lexicon.modules["base"]
        made = Instance(place, self.ledger.capture, cls=cls, is_module=bool({*bases} & modules))
        return self.initialised(made, given, node, frame)

    def initialised(self, made: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Instance:
        """Run the constructor of an object."""
        found = self.interpreter.classes.find(made.cls, "__init__")
        if found is None or isinstance(found[0], str):
            for name, value in given.keywords.items():  # as a dataclass does
                made.attributes[name] = value
            for name, value in zip(made.cls.annotations, given.positional, strict=False):
                made.attributes[name] = value
            return made
        closure = self.bound_method(*found, made, frame)
        if isinstance(closure, Closure):
            self.run(closure, given, node, frame)
        return made

    def _call_instance(self, callee: Instance, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        name = "forward" if callee.is_module else "__call__"
        method = callee.attributes.get(name) or self.of_class(callee.cls, name, callee, frame)
        values, place = given.all(), frame.place(node)
        if callee.is_module:
            self.ledger.ran_module(callee, values, place)
        if isinstance(method, (Closure, Made)):
            result = self.call(method, given, node, frame)
        else:
            result = self.operated((callee, *values), place)
        return self.ledger.ran(callee, values, result, place) if callee.is_module else result

    def is_method_of_module(self, receiver: Instance, name: str) -> bool:
        """Whether an object has a method because it is a module of torch."""
        base = next(iter(self.interpreter.lexicon.modules["base"]))
        return receiver.is_module and self.interpreter.catalogue.find(f"{base}.{name}") is not None

    # Iteration

    def iterate(self, iterated: Object, frame: Frame, node: ir.Node, body: Callable[[Object], None]) -> None:
        """Run a body for what iterating over something gives, for the first rounds."""
        if isinstance(iterated, Made) and iterated.cls == "<generator>" and "frame" in iterated.state:
            inner = iterated.state.pop("frame")
            inner.on_yield = lambda value: body(value)
            self._finish(inner)
            return
        if isinstance(iterated, Container) and not iterated.is_open:
            keys = [key for key, _ in iterated.keyed.values()]
            for value in (keys if iterated.kind == "dict" else list(iterated.elements))[:MAX_ROUNDS]:
                body(value)
            return
        if isinstance(iterated, range):
            for value in iterated[:MAX_ROUNDS]:
                body(value)
            return
        of = iterated if isinstance(iterated, Thing) else None
        for _ in range(UNKNOWN_ROUNDS):
            body(Thing(made_in=self.ledger.capture, source=(of,) if of is not None else ()))

    def unpacked(self, value: Object, count: int, frame: Frame, node: ir.Node) -> list[Object]:
        """The parts of what is assigned to several targets."""
        if isinstance(value, Container) and value.kind != "dict" and len(value.elements) == count:
            return list(value.elements)
        if isinstance(value, Thing):
            for number in range(count):
                key = identity(number)
                if key not in value.items:
                    made = value.made or frame.place(node)
                    kind = Tensor if isinstance(value, Tensor) else Thing
                    value.items[key] = kind(made, value.made_in, source=(value,), argument=value.argument)
            return [value.items[identity(number)] for number in range(count)]
        return [Symbol() if isinstance(value, Symbol) else Thing() for _ in range(count)]

    # Python's own

    def call_builtin(self, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a function of Python's own gives."""
        first = given.get(0)
        place = frame.place(node)
        match name:
            case "range" if given.positional and all(isinstance(one, int) for one in given.positional):
                return range(*given.positional)
            case "range":
                return Thing(place)
            case "len":
                return len(first.values()) if isinstance(first, Container) and not first.is_open else Symbol()
            case "super":
                return self._super(frame, place)
            case "getattr" if isinstance(given.get(1), str):
                return self.attribute(first, given.get(1), frame, node)
            case "setattr" if isinstance(given.get(1), str):
                self.set_attribute(first, given.get(1), given.get(2), place)
                return None
            case "hasattr" if isinstance(given.get(1), str) and isinstance(first, Instance):
                known = given.get(1) in first.attributes
                return known or self.interpreter.classes.find(first.cls, given.get(1)) is not None
            case "next":
                return self._next(first, place)
            case "enumerate" | "zip" | "map" | "filter":
                return self._combined_iterators(name, given, frame, node)
            case "isinstance" | "callable" | "hasattr" | "issubclass" | "id" | "type" | "hash":
                return Symbol()
            case "float" if isinstance(first, str) and first.strip("+-") in ("nan", "inf"):
                return float(first)
            case "min" | "max" if given.positional and all(isinstance(one, (int, float)) for one in given.positional):
                return (min if name == "min" else max)(given.positional)
            case _ if name in _COPYING:
                copied = self._copied(name, first, place)
                if given.keywords and isinstance(copied, Container) and name == "dict":
                    copied.keyed |= {identity(key): (key, value) for key, value in given.keywords.items()}
                return copied
        self.ledger.read(given.all(), place)
        if name == "print" or name in ("int", "float", "bool", "str", "repr", "abs", "round", "sum", "any", "all"):
            return Symbol(frozenset(v for v in given.all() if isinstance(v, Thing)))
        return Thing(place, self.ledger.capture, source=tuple(v for v in given.all() if isinstance(v, Thing)))

    def _super(self, frame: Frame, place: Place) -> Object:
        method = next((f for f in frame.stack() if isinstance(f.owner, ClassDefinition)), None)
        receiver = method.receiver if method is not None else None
        if method is None or not isinstance(receiver, Instance):
            return Thing(place)
        return Made(place, cls="<super>", state={"after": method.owner, "receiver": receiver})

    def _next(self, iterator: Object, place: Place) -> Object:
        if isinstance(iterator, Thing):
            iterator.items.clear()
        return Thing(place, self.ledger.capture, source=(iterator,) if isinstance(iterator, Thing) else ())

    def _copied(self, kind: str, value: Object, place: Place) -> Object:
        if isinstance(value, range):
            value = Container(kind="list", elements=list(value[:MAX_ROUNDS]))
        if isinstance(value, Container):
            kind = kind if kind in ("tuple", "set", "dict") else "list"
            elements = [key for key, _ in value.keyed.values()] if value.kind == "dict" else list(value.elements)
            if kind == "dict":
                return Container(
                    place, self.ledger.capture, kind="dict", keyed=dict(value.keyed), is_open=value.is_open
                )
            return Container(place, self.ledger.capture, kind=kind, elements=elements, is_open=value.is_open)
        if value is None:
            return Container(place, self.ledger.capture, kind=kind if kind in ("tuple", "set", "dict") else "list")
        if isinstance(value, Made) and "frame" in value.state and kind in ("list", "tuple"):
            made = Container(place, self.ledger.capture, kind=kind)
            with self.ledger.loop(place):

                def collect(one: Object) -> None:
                    made.elements.append(one)
                    self.ledger.collected(made, None, one, place)

                self.iterate(value, value.state["frame"], place.node, collect)
            return made
        if isinstance(value, Thing):
            return Thing(place, self.ledger.capture, source=(value,))
        return Symbol() if isinstance(value, Symbol) else Thing(place, self.ledger.capture)

    def _combined_iterators(self, name: str, given: Arguments, frame: Frame, node: ir.Node) -> Object:
        """What `enumerate`, `zip` and the like give, as a list."""
        made = Container(frame.place(node), self.ledger.capture)
        sources = given.positional[1:] if name in ("map", "filter") else given.positional
        columns: list[list[Object]] = []
        for source in sources:
            column: list[Object] = []
            self.iterate(source, frame, node, column.append)
            columns.append(column)
        for number, row in enumerate(zip(*columns, strict=False)):
            match name:
                case "enumerate":
                    made.elements.append(Container(kind="tuple", elements=[number, *row]))
                case "zip":
                    made.elements.append(Container(kind="tuple", elements=list(row)))
                case "map":
                    made.elements.append(self.call(given.positional[0], Arguments(row), node, frame))
                case _:
                    made.elements += row
        return made

    def call_container(self, owner: Container, name: str, given: Arguments, node: ir.Node, frame: Frame) -> Object:
        """What a method of a list, set or dict does."""
        first = given.get(0)
        place = frame.place(node)
        match name:
            case "append" | "add" | "appendleft":
                owner.elements.append(first)
                self.ledger.collected(owner, None, first, place)
            case "extend" | "update":
                held = first if isinstance(first, Container) else None
                owner.elements += held.elements if held is not None and owner.kind != "dict" else []
                owner.keyed |= held.keyed if held is not None else {}
                owner.keyed |= {identity(key): (key, value) for key, value in given.keywords.items()}
                owner.is_open = owner.is_open or held is None
            case "clear":
                owner.elements.clear()
                owner.keyed.clear()
            case "pop" if owner.kind == "dict":
                return owner.keyed.pop(identity(first), (None, Thing()))[1]
            case "pop" | "popleft":
                return owner.elements.pop() if owner.elements else Thing()
            case "get":
                if identity(first) in owner.keyed or (owner.keyed and not isinstance(first, (int, str))):
                    return self.element_at(owner, first)
                return Thing() if owner.is_open else given.get(1, "default")
            case "setdefault":
                return owner.keyed.setdefault(identity(first), (first, given.get(1)))[1]
            case "items":
                pairs = [Container(kind="tuple", elements=[key, value]) for key, value in owner.keyed.values()]
                return Container(place, elements=pairs, is_open=owner.is_open)
            case "keys":
                return Container(place, elements=[key for key, _ in owner.keyed.values()], is_open=owner.is_open)
            case "values":
                return Container(place, elements=[value for _, value in owner.keyed.values()], is_open=owner.is_open)
            case "copy":
                return self._copied(owner.kind, owner, place)
            case _:
                return Symbol()
        return None

    def abstract_frame(self, frame: Frame) -> Any:
        """A frame of the interpreter that stands for one of the run, for what it is asked of classes in functions."""
        made = self.interpreter.names.module_frame(frame.function.module, frame.function.first_line)
        made.function = frame.function
        return made


def _prepended(given: Arguments, value: Object) -> Arguments:
    made = Arguments([value, *given.positional], given.keywords)
    made.is_open = given.is_open
    return made
