"""A callable and arguments in, a result out: functions are run, classes made, methods found, the rest looked up by name."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.static import ir
from graphlint.static.builtins import Builtins
from graphlint.static.frames import Context, Env, Frame, Mode, reachable
from graphlint.static.lowering import UnparsableSource, lower_segment
from graphlint.static.names import MODULE_CODE
from graphlint.static.objects import CONTENT, Base
from graphlint.static.project import ClassDefinition
from graphlint.static.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Bound,
    Class,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Function,
    Host,
    Instance,
    Mapping,
    Method,
    ModuleValue,
    Partial,
    Place,
    Sequence,
    Super,
    Tensor,
    Union,
    Unknown,
    Value,
    join,
    members,
    placed_by_name,
    tensors_in,
    union,
    without,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter import Interpreter

MAX_TARGETS = 24  # functions that one call may go to
CONSTRUCTOR_DEPTH = 7  # factories and registries stand between a constructor and the classes that it picks
SKIM_DEPTH = 3  # calls that are followed for the kinds of values alone
_TRANSPARENT_DEPTH = 2  # a decorator that does more than define and return a wrapper is taken as it stands
_METHOD_KINDS = frozenset(
    {"builtins.property", "builtins.staticmethod", "builtins.classmethod", "functools.cached_property"}
)
_CACHES = frozenset({"functools.lru_cache", "functools.cache"})
# Calling an object of these classes calls what it holds, one after the other.
_CHAINS = frozenset({"torch.nn.Sequential", "torch.nn.modules.container.Sequential"})
_ABSTRACT = (ir.Raise, ir.Jump)


class Calls:
    """Everything that happens between a call and its result."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.builtins = Builtins(interpreter)
        self.transparent: dict[Value, bool] = {}

    # Definitions

    def closure(self, code: ir.Code, frame: Frame) -> Function:
        """A nested function with the values that it reads from around it."""
        outer = frame.function
        held = {name: value for name, value in outer.closure if name in code.loads}
        held.update({name: frame.env[name] for name in code.loads if name in frame.env})
        if outer.code is MODULE_CODE:
            held = {}
        qualname = code.name if outer.code is MODULE_CODE else f"{outer.qualname}.<locals>.{code.name}"
        owner = outer.owner
        return Function(code, outer.module, qualname, outer.first_line, owner, tuple(sorted(held.items())))

    def decorate(self, decorator: Value, value: Value, frame: Frame, node: ir.Expr | None = None) -> Value:
        """What a decorator makes of a function; the function itself where that is not known."""
        for member in members(decorator):
            if isinstance(member, External):
                if member.name in _METHOD_KINDS:
                    return Bound(member, value)
                if member.name.endswith("contextmanager"):
                    return Bound(External("contextlib.contextmanager"), value)
                if member.name in _CACHES:
                    maxsize = NONE if member.name == "functools.cache" else Const(128)
                    return ExternalObject("functools.lru_cache", (("function", value), ("maxsize", maxsize)))
                if member.name == "typing.overload":
                    return member
                entries = self.interpreter.entries
                # Functions that are not inside of others are found without running what is around them.
                is_inner = isinstance(value, Function) and "<locals>" in value.qualname
                if is_inner and node is not None and entries.declares(member.name):
                    assert isinstance(value, Function)
                    entries.declare(self.interpreter, value, node, self._outside(frame))
            if isinstance(member, Partial) and isinstance(member.function, External):
                keywords = dict(member.keywords)
                if member.function.name in _CACHES:
                    maxsize = member.arguments[0] if member.arguments else keywords.get("maxsize", Const(128))
                    return ExternalObject("functools.lru_cache", (("function", value), ("maxsize", maxsize)))
                if node is not None and self.interpreter.entries.find(member.function.name) is not None:
                    call = ir.Call(node.pos, node, ())
                    return self.call(member, Arguments((value,)), call, self._outside(frame))
            made = self._decorated(member, value, frame)
            if made is not None:
                return made
        return value

    def _decorated(self, decorator: Value, value: Value, frame: Frame) -> Value | None:
        if not isinstance(decorator, (Function, Bound, Partial, Instance, Class)) or self.transparent.get(decorator):
            return None
        if isinstance(decorator, Class) and self.interpreter.objects.method(decorator.definition, "__call__") is None:
            return None
        outside = self._outside(frame)
        made = self.call(decorator, Arguments((value,)), None, outside)
        useful = all(isinstance(m, (Function, Bound, Partial, Instance, ExternalObject)) for m in members(made))
        if not useful or made == value:
            self.transparent[decorator] = True
            return None
        return made

    def decorate_class(self, source: str, cls: ClassDefinition, frame: Frame) -> None:
        """Run a class decorator of the project if it assigns to the class that it is given, or stores it somewhere."""
        try:
            statements = lower_segment(source + "\n")
        except UnparsableSource:
            return
        node = statements[0].value if statements and isinstance(statements[0], ir.Evaluate) else None
        name = node.func if isinstance(node, ir.Call) else node
        if node is None or name is None:
            return
        found = members(self.interpreter.eval(name, frame))
        if any(isinstance(m, Function) and assigns_members(m.code) for m in found):
            decorator = self.interpreter.eval(node, frame)
            self.call(decorator, Arguments((Class(cls),)), None, self._outside(frame))

    def _outside(self, frame: Frame) -> Frame:
        """A frame for what runs before any capture, and only skims it."""
        depth = self.interpreter.max_depth_outside - _TRANSPARENT_DEPTH
        function = Function(MODULE_CODE, frame.module, "<module>", frame.function.first_line)
        return Frame(function, Context(frame.context.function, frame.context.path), Mode.OUTSIDE, depth)

    # Calls

    def call(self, target: Value, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The result of calling a value."""
        targets = list(members(target))
        if len(targets) > 1:
            functions = [t for t in targets if t != NONE and not isinstance(t, (Const, Host))][:MAX_TARGETS]
            return union(self.call(t, arguments, node, frame) for t in functions) if functions else UNKNOWN
        target = targets[0]
        if isinstance(target, Function):
            return self.call_function(target, arguments, node, frame)
        if isinstance(target, Bound):
            return self._call_bound(target, arguments, node, frame)
        if isinstance(target, Method):
            return self.call_method(target.receiver, target.name, arguments, node, frame)
        if isinstance(target, External):
            return self.call_external(target.name, arguments, node, frame)
        if isinstance(target, Class):
            return self.construct(target.definition, arguments, node, frame)
        if isinstance(target, Instance):
            return self.call_instance(target, arguments, node, frame)
        if isinstance(target, Partial):
            keywords = dict(target.keywords) | dict(arguments.keywords)
            merged = Arguments(
                target.arguments + arguments.positional, tuple(keywords.items()), arguments.star, arguments.double_star
            )
            return self.call(target.function, merged, node, frame)
        if isinstance(target, ExternalObject):
            return self._call_external_object(target, arguments, node, frame)
        if isinstance(target, Sequence) and target.kind == "sequential":
            return self._call_chain(target, arguments, node, frame)
        if isinstance(target, (Unknown, Super, ModuleValue)):
            self.unresolved(node, frame)
        return UNKNOWN

    def unresolved(self, node: ir.Call | None, frame: Frame) -> None:
        """Count a call that could not be followed."""
        if node is not None and frame.mode is not Mode.OUTSIDE:
            frame.sink.unresolved.setdefault(frame.span(node), frame.source(node.func))

    def _call_bound(self, target: Bound, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        function = target.function
        if isinstance(function, External):
            if function.name == "contextlib.contextmanager":
                held = Partial(target.receiver, arguments.positional, arguments.keywords)
                return ExternalObject("contextlib.contextmanager", (("generator", held),))
            if function.name in _METHOD_KINDS:
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
        context = self.context(function, arguments, node, frame, constructing)
        return context.result

    def context(
        self,
        function: Function,
        arguments: Arguments,
        node: ir.Call | None,
        frame: Frame,
        constructing: Instance | None = None,
    ) -> Context:
        """The context of a call, tied to the one that makes it; regions that it leaves open stay open here."""
        bound = self.bind(function, arguments, frame)
        context = self.interpreter.run(function, bound, frame.mode, frame.depth + 1, constructing, frame.surroundings)
        if frame.mode is not Mode.OUTSIDE:
            frame.sink.calls.setdefault(context, frame.hop(node))
        for _ in range(context.closes):
            self.interpreter.close_region(frame)
        frame.regions.extend(context.left_open)
        return context

    def bind(self, function: Function, arguments: Arguments, frame: Frame) -> Env:
        """The value of each parameter; annotations say what is not known otherwise."""
        bound: Env = {}
        positional = list(arguments.positional)
        keywords = dict(arguments.keywords)
        for parameter in function.code.parameters:
            name = parameter.name
            if parameter.kind == "*":
                if arguments.star is not None:
                    bound[name] = Sequence("tuple", None, union((*positional, arguments.star)))
                else:
                    bound[name] = Sequence("tuple", tuple(positional))
                positional = []
            elif parameter.kind == "**":
                bound[name] = Mapping(tuple((Const(k), v) for k, v in keywords.items()), arguments.double_star)
            elif parameter.kind == "positional" and positional:
                bound[name] = self.refine(positional.pop(0), parameter, function)
            elif name in keywords:
                bound[name] = self.refine(keywords.pop(name), parameter, function)
            else:
                bound[name] = self._left_out(parameter, arguments, function)
        return bound

    def _left_out(self, parameter: ir.Parameter, arguments: Arguments, function: Function) -> Value:
        possible = []
        if parameter.kind == "positional" and arguments.star is not None:
            possible.append(self.refine(arguments.star, parameter, function))
        if arguments.double_star is not None and parameter.default is None:
            possible.append(self.refine(arguments.double_star, parameter, function))
        if parameter.default is not None:
            possible.append(self.default(parameter, function))
        return union(possible) if possible else self.refine(UNKNOWN, parameter, function)

    def default(self, parameter: ir.Parameter, function: Function) -> Value:
        """The default of a parameter, in the scope of its function."""
        assert parameter.default is not None
        if isinstance(parameter.default, ir.Literal):
            return Const(parameter.default.value)
        frame = self.interpreter.names.module_frame(function.module, function.first_line)
        frame.env.update(dict(function.closure))
        return self.interpreter.eval(parameter.default, frame)

    def refine(self, value: Value, parameter: ir.Parameter, function: Function) -> Value:
        """An unknown argument with what its annotation, or the convention for its name, promises."""
        if UNKNOWN not in members(value):
            return value
        promised: Value = UNKNOWN
        if parameter.annotation is not None:
            promised = self.interpreter.names.annotated(parameter.annotation, function.module)
        elif parameter.default is not None and isinstance(parameter.default, ir.Literal):
            promised = _kind_of(parameter.default.value)
        elif function.owner is not None:
            promised = self.interpreter.objects.annotated(function.owner, parameter.name)
        if promised == UNKNOWN and parameter.name == "device":
            promised = DeviceName(Place.ANYWHERE)
        if promised == UNKNOWN:
            return value
        return placed_by_name(union([promised, *(m for m in members(value) if m != UNKNOWN)]), parameter.name)

    def run_promised(
        self, function: Function, receiver: Value | None, mode: Mode, frame: Frame | None = None
    ) -> Context:
        """Run a function with the arguments that its signature promises."""
        arguments = Arguments(() if receiver is None else (receiver,), (), UNKNOWN, UNKNOWN)
        if frame is None:
            frame = self.interpreter.names.module_frame(function.module, function.first_line)
            frame.outer_mode = mode
            frame.depth = self.interpreter.max_depth_outside - SKIM_DEPTH if mode is Mode.OUTSIDE else 0
        return self.context(function, arguments, None, frame)

    # Objects

    def construct(self, cls: ClassDefinition, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """An object of a project class; inside a region its constructor is part of the region."""
        objects = self.interpreter.objects
        in_region = frame.mode is not Mode.OUTSIDE
        metaclass = objects.method(cls, "__new__")
        if metaclass is not None and objects.method(cls, "__init__") is None and not isinstance(metaclass, Union):
            result = self.call(metaclass, arguments.prepend(Class(cls)), node, frame)
            if any(not isinstance(m, Unknown) for m in members(result)):
                return result
        instance = objects.instance(cls, arguments, in_region)
        if in_region and instance not in objects.heap:
            objects.heap[instance] = {}
        if in_region:
            self.initialise(instance, frame.mode, node, frame)
        return instance

    def initialise(
        self, instance: Instance, mode: Mode, node: ir.Call | None = None, frame: Frame | None = None
    ) -> None:
        """Run the constructor; a class without one keeps its arguments under the names of its fields."""
        interpreter = self.interpreter
        cls = instance.cls
        if frame is None:
            frame = interpreter.names.module_frame(cls.module, cls.segment.first)
            frame.depth = interpreter.max_depth_outside - CONSTRUCTOR_DEPTH
        arguments = instance.arguments or Arguments((), (), UNKNOWN, UNKNOWN)
        constructor = interpreter.objects.method(cls, "__init__")
        if constructor is None:
            self._fill_fields(instance, arguments)
        for function in members(constructor) if constructor is not None else ():
            if isinstance(function, Function):
                self.call_function(function, arguments.prepend(instance), node, frame, instance)
        finish = interpreter.objects.method(cls, "__post_init__")
        if finish is not None:
            self.call(finish, Arguments((instance,)), node, frame)

    def _fill_fields(self, instance: Instance, arguments: Arguments) -> None:
        objects = self.interpreter.objects
        order = [base for base in objects.order(instance.cls) if isinstance(base, ClassDefinition)]
        fields = [name for base in reversed(order) for name in base.annotations]
        attributes = objects.heap.setdefault(instance, {})
        for name, value in zip(dict.fromkeys(fields), arguments.positional, strict=False):
            attributes[name] = value
        attributes.update(dict(arguments.keywords))
        if objects.external_bases(instance.cls) and arguments.positional:
            attributes[CONTENT] = self.builtins.content_of(arguments)

    def call_instance(self, instance: Instance, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call an object: its `__call__`, or the `forward` of a module."""
        objects = self.interpreter.objects
        found = objects.find(instance.cls, "__call__")
        if found is None or isinstance(found[0], str):
            forward = objects.find(instance.cls, "forward")
            found = forward if forward is not None else found
            name = "forward" if forward is not None else "__call__"
        else:
            name = "__call__"
        chain = next((base for base in objects.external_bases(instance.cls) if base in _CHAINS), None)
        if found is None and chain is not None:
            return self._call_inherited(instance, chain, arguments, node, frame)
        if found is None:
            self.unresolved(node, frame)
            return UNKNOWN
        if isinstance(found[0], str):
            return self._call_inherited(instance, found[0], arguments, node, frame)
        return self.call_method(instance, name, arguments, node, frame)

    def _call_inherited(
        self, instance: Instance, base: Base, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call an object whose `forward` is that of an external class."""
        objects = self.interpreter.objects
        if any(chain in objects.external_bases(instance.cls) for chain in _CHAINS):
            attributes = objects.attributes(instance)
            content = attributes.get(CONTENT)
            parts = [content] if content is not None else []
            parts += [v for k, v in attributes.items() if k != CONTENT and _is_module(v)]
            chain: list[Value] = []
            for part in parts:
                if isinstance(part, Sequence) and part.elements is not None and part is content:
                    chain.extend(part.elements)
                else:
                    chain.append(part.element if isinstance(part, Sequence) and part is content else part)
            return self._call_chain(Sequence("sequential", tuple(chain)), arguments, node, frame)
        made_with = self.interpreter.objects.attributes(instance).get(CONTENT)
        held = (("content", made_with),) if made_with is not None else ()
        return self._call_external_object(ExternalObject(str(base), held), arguments, node, frame)

    def _call_chain(self, chain: Sequence, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if chain.elements is None:
            first = self.call(chain.element, arguments, node, frame)
            return join(first, self.call(chain.element, Arguments((first,)), node, frame))
        value: Value = UNKNOWN
        for index, part in enumerate(chain.elements):
            value = self.call(part, arguments if index == 0 else Arguments((value,)), node, frame)
        return value if chain.elements else (arguments.positional[0] if arguments.positional else UNKNOWN)

    def call_method(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method by name; each thing that the receiver can be answers for itself."""
        results = []
        targets = [m for m in members(receiver) if m != NONE] or [receiver]
        known = [m for m in targets if not isinstance(m, Unknown)]
        for member in targets[:MAX_TARGETS]:
            if isinstance(member, Unknown) and known and name not in self.interpreter.tensors.telling_methods:
                results.append(UNKNOWN)
            else:
                results.append(self._call_method_of(member, name, arguments, node, frame))
        return union(results)

    def _call_method_of(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        interpreter = self.interpreter
        if isinstance(receiver, (Tensor, Unknown)):
            return interpreter.tensors.call_method(receiver, name, arguments, node, frame)
        if isinstance(receiver, Instance):
            return self._call_own_method(receiver, name, arguments, node, frame)
        if isinstance(receiver, Super):
            return self._call_super(receiver, name, arguments, node, frame)
        if isinstance(receiver, (ModuleValue, External, Class)) or (isinstance(receiver, (Function, Bound, Partial))):
            target = interpreter.attributes.load(receiver, name, frame)
            if (
                isinstance(receiver, Class)
                and isinstance(target, Bound)
                and target.function == External("autograd.apply")
            ):
                return self._apply(receiver.definition, arguments, node, frame)
            return self.call(target, arguments, node, frame)
        if isinstance(receiver, ExternalObject):
            return self.call_external_method(f"{receiver.cls}.{name}", receiver, arguments, node, frame)
        return self.builtins.call_method(receiver, name, arguments, node, frame)

    def _call_own_method(
        self, receiver: Instance, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        objects = self.interpreter.objects
        if receiver.arguments is None:
            overriding = self._overriding(receiver.cls, name)
            if overriding is not None:
                return union(
                    self.call(method, arguments.prepend(objects.promised(cls)), node, frame)
                    for method, cls in overriding.items()
                )
        # An attribute that stands for the object itself would go round in circles.
        target = without(objects.load(receiver, name, frame), receiver)
        if target in (UNKNOWN, receiver):
            content = objects.attributes(receiver).get(CONTENT)
            if content is not None or name == "get":
                return self._call_external_super(receiver, name, arguments, node, frame)
            self.unresolved(node, frame)
            return UNKNOWN
        return self.call(target, arguments, node, frame)

    def _overriding(self, cls: ClassDefinition, name: str) -> dict[Value, ClassDefinition] | None:
        """The methods that stand in for an abstract one when only the base class is known, each with a class that has it."""
        objects = self.interpreter.objects
        own = objects.method(cls, name)
        if own is not None and not all(isinstance(m, Function) and is_abstract(m.code) for m in members(own)):
            return None
        if own is None and objects.find(cls, name) is not None:
            return None
        found: dict[Value, ClassDefinition] = {}
        for subclass in objects.subclasses(cls):
            method = objects.method(subclass, name)
            if method is not None and method != own:
                found.setdefault(method, subclass)
        return found or None

    def special(self, value: Value, name: str, arguments: Arguments, node: ir.Node, frame: Frame) -> Value | None:
        """What an operator gives that a class of the project defines; None where none does."""
        results = []
        for member in members(value):
            found = self.interpreter.objects.find(member.cls, name) if isinstance(member, Instance) else None
            if found is not None and isinstance(found[0], ClassDefinition):
                call = ir.Call(node.pos, ir.Name(node.pos, name), ())
                results.append(self.call_method(member, name, arguments, call, frame))
        return union(results) if results else None

    def _call_super(
        self, receiver: Super, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        instance = receiver.receiver
        cls = (
            instance.cls
            if isinstance(instance, Instance)
            else instance.definition
            if isinstance(instance, Class)
            else None
        )
        if cls is None:
            return UNKNOWN
        objects = self.interpreter.objects
        method = objects.method(cls, name, receiver.after)
        if method is not None:
            bound = union(objects.bind(m, instance, frame) for m in members(method))
            return self.call(bound, arguments, node, frame)
        if not isinstance(instance, Instance):
            return UNKNOWN
        return self._call_external_super(instance, name, arguments, node, frame)

    def _call_external_super(
        self, instance: Instance, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        objects = self.interpreter.objects
        bases = objects.external_bases(instance.cls)
        if name == "__init__":
            if arguments.positional or arguments.star is not None:
                objects.attributes(instance).setdefault(CONTENT, self.builtins.content_of(arguments))
            return NONE
        if name == "__call__" and objects.method(instance.cls, "forward") is not None:
            return self.call_method(instance, "forward", arguments, node, frame)
        if name in ("forward", "__call__") and bases:
            return self._call_inherited(instance, bases[0], arguments, node, frame)
        content = objects.attributes(instance).get(CONTENT)
        if content is not None:
            return self.builtins.call_method(content, name, arguments, node, frame)
        if name == "get" and arguments.positional and objects.method(instance.cls, "__getitem__") is not None:
            # What a mapping class inherits is made of its own items.
            key = Arguments(arguments.positional[:1])
            found = self.call_method(instance, "__getitem__", key, node, frame)
            return union((found, *(arguments.positional[1:] or (NONE,))))
        for base in bases:
            if self.interpreter.catalogue.find(f"{base}.{name}") is not None:
                return self.call_external_method(f"{base}.{name}", instance, arguments, node, frame)
        return UNKNOWN

    def _apply(self, cls: ClassDefinition, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`Function.apply` runs `forward`; its `backward` waits for the backward pass."""
        forward = self.interpreter.objects.method(cls, "forward")
        if forward is None:
            return UNKNOWN
        if frame.mode is not Mode.OUTSIDE:
            frame.sink.applied.setdefault(Class(cls))
        takes_context = self.interpreter.objects.method(cls, "setup_context") is None
        given = arguments.prepend(ExternalObject("torch.autograd.function.FunctionCtx")) if takes_context else arguments
        return self.call(forward, given, node, frame)

    def run_backward(self, node: ir.Call | None, frame: Frame) -> None:
        """A backward pass runs the `backward` of the autograd functions that were applied on the way here."""
        if frame.mode is Mode.OUTSIDE:
            return
        for applied in dict.fromkeys(cls for context, _ in reachable(frame.sink) for cls in context.applied):
            method = self.interpreter.objects.method(applied.definition, "backward")
            gradients = Tensor(Place.DEVICE, None, None, Confidence.HIGH)
            for function in members(method) if method is not None else ():
                context = ExternalObject("torch.autograd.function.FunctionCtx")
                inner = function.receiver if isinstance(function, Bound) else function
                self.call(inner, Arguments((context,), (), gradients), node, frame)

    # Names outside the project

    def call_external(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call a function or class outside the project."""
        interpreter = self.interpreter
        if name in _METHOD_KINDS and arguments.positional:
            return Bound(External(name), arguments.positional[0])
        handled = interpreter.entries.call(interpreter, name, arguments, node, frame)
        if handled is None:
            handled = self.builtins.call(name, arguments, node, frame)
        if handled is None:
            handled = interpreter.tensors.call_operation(name, None, arguments, node, frame)
        if handled is None:
            if not name.startswith(("builtins.", "torch.")) and name.partition(".")[0] not in _STANDARD:
                self.unresolved(node, frame)
            for argument in arguments.all_values():
                self._escape(argument, node, frame)
            return self.builtins.made_by_unknown(name, arguments)
        return handled

    def _escape(self, argument: Value, node: ir.Call | None, frame: Frame) -> None:
        """A function handed to something that is not followed may be called there."""
        if frame.mode is Mode.OUTSIDE:
            return
        for member in members(argument):
            if isinstance(member, Function) and "<locals>" in member.qualname:
                self.context(member, Arguments((), (), UNKNOWN, UNKNOWN), node, frame)

    def call_external_method(
        self, name: str, receiver: Value, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call a method of an external object, or one that a project class inherits from an external class."""
        interpreter = self.interpreter
        handled = interpreter.entries.call_method(interpreter, name, receiver, arguments, node, frame)
        if handled is None:
            handled = self.builtins.call_object_method(name, receiver, arguments, node, frame)
        if handled is None:
            handled = interpreter.tensors.call_operation(name, receiver, arguments, node, frame)
        if handled is None and isinstance(receiver, ExternalObject) and not receiver.cls.startswith("torch."):
            if receiver.cls.partition(".")[0] not in _STANDARD:
                self.unresolved(node, frame)
        return UNKNOWN if handled is None else handled

    def _call_external_object(
        self, target: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        if target.cls == "functools.lru_cache":
            return self._call_cached(target, arguments, node, frame)
        operation = self.interpreter.catalogue.call(target.cls)
        if operation is not None:
            return self.interpreter.tensors.apply(operation, target, arguments, node, frame)
        if target.cls in _CHAINS or target.cls.startswith("torch.nn."):
            return self.interpreter.tensors.like_arguments(arguments, frame)
        if not target.cls.startswith("torch."):
            self.unresolved(node, frame)
        return UNKNOWN

    def _call_cached(self, cache: ExternalObject, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call a cached function; a bounded cache drops device tensors that a graph still reads."""
        function, maxsize = cache.argument("function") or UNKNOWN, cache.argument("maxsize")
        if not isinstance(function, Function):
            return self.call(function, arguments, node, frame)
        context = self.context(function, arguments, node, frame)
        found = [tensor for tensor in tensors_in(context.result) if tensor.place is Place.DEVICE]
        if found and maxsize != NONE and frame.mode is not Mode.OUTSIDE:
            sure = found[0].sure if isinstance(maxsize, Const) else Confidence.LOW
            inside = Frame(function, context, frame.mode, frame.depth)
            decorator = next((d for d in function.code.decorators if self._is_cache(d, inside)), None)
            if decorator is not None:
                self.interpreter.event(inside, decorator, "evictable-cache", sure)
            elif node is not None:
                self.interpreter.event(frame, node, "evictable-cache", sure)
        return context.result

    def _is_cache(self, decorator: ir.Expr, frame: Frame) -> bool:
        name = decorator.func if isinstance(decorator, ir.Call) else decorator
        return any(isinstance(m, External) and m.name in _CACHES for m in members(self.interpreter.eval(name, frame)))


def is_abstract(code: ir.Code) -> bool:
    """Whether a method only says that a subclass has it."""
    return all(isinstance(statement, _ABSTRACT) for statement in code.body)


@cache
def assigns_members(code: ir.Code) -> bool:
    """Whether a function, or one inside it, assigns to an attribute of a parameter, or stores one as an item."""
    parameters = {parameter.name for parameter in code.parameters}
    for statement in code.body:
        if isinstance(statement, ir.Define) and assigns_members(statement.code):
            return True
        targets = statement.targets if isinstance(statement, ir.Assign) else ()
        for target in targets:
            if isinstance(target, ir.Attribute) and isinstance(target.value, ir.Name) and target.value.id in parameters:
                return True
            stored = getattr(statement, "value", None)
            if isinstance(target, ir.Subscript) and isinstance(stored, ir.Name) and stored.id in parameters:
                return True
    return False


def _is_module(value: Value) -> bool:
    return any(
        isinstance(m, (Instance, ExternalObject)) or (isinstance(m, Sequence) and m.kind == "sequential")
        for m in members(value)
    )


def _kind_of(default: object) -> Value:
    if isinstance(default, (bool, int, float, str)):
        return Host(type(default).__name__)
    return UNKNOWN


_STANDARD = frozenset(__import__("sys").stdlib_module_names) | {
    "numpy",
    "torch",
    "triton",
    "packaging",
    "tqdm",
    "typing_extensions",
}
