"""A receiver, the name of a method and arguments in, the result out: own, inherited, overriding and special methods."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.static.domain.contexts import Frame, dispatched
from graphlint.static.domain.program import (
    APPLY,
    CONTENT,
    Bound,
    Class,
    Function,
    Instance,
    ModuleValue,
    Partial,
    Super,
)
from graphlint.static.index.module import ClassDefinition
from graphlint.static.interpreter.calls import MAX_TARGETS
from graphlint.static.interpreter.hidden import Hidden
from graphlint.static.models.containers import entry, lacks
from graphlint.static.models.inputs import ANYTHING
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import names_in
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    External,
    ExternalObject,
    Host,
    Mapping,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.queries import with_guesses, without

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter

_ABSTRACT = (ir.Raise, ir.Jump)


class Methods:
    """Finds methods and calls them."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.hidden = Hidden(interpreter)

    def call(self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """Call a method by name; each thing that the receiver can be answers for itself."""
        results: list[Value] = []
        able = [m for m in with_guesses(receiver) if m != NONE and not lacks(m, name)]
        targets = able or [NONE if receiver == NONE else UNKNOWN]
        if (sure := _likely(targets)) is not Confidence.HIGH:
            targets = [replace(m, sure=min(m.sure, sure)) if isinstance(m, Tensor) else m for m in targets]
        known = [m for m in targets if not isinstance(m, Unknown)]
        asked = node.func.value if node is not None and isinstance(node.func, ir.Attribute) else None
        for member in dispatched(targets[:MAX_TARGETS], asked, frame, self.interpreter.unnamed):
            is_silent = name not in self.interpreter.catalogue.telling or sure is Confidence.LOW
            if isinstance(member, Unknown) and known and is_silent:
                results.append(UNKNOWN)
            else:
                results.append(self._call_method_of(member, name, arguments, node, frame))
        return union(results)

    def _call_method_of(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        interpreter = self.interpreter
        match receiver:
            case Tensor() | Unknown():
                return interpreter.tensors.call_method(receiver, name, arguments, node, frame)
            case Instance():
                return self._call_own_method(receiver, name, arguments, node, frame)
            case Super():
                return self._call_super(receiver, name, arguments, node, frame)
            case Mapping() if (held := entry(receiver, name)) is not None:
                return interpreter.calls.call(held, arguments, node, frame)
            case ExternalObject() if (held := receiver.argument(name)) is not None:
                return interpreter.calls.call(held, arguments, node, frame)
            case ExternalObject():
                return interpreter.calls.call_external_method(
                    f"{receiver.cls}.{name}", receiver, arguments, node, frame
                )
            case ModuleValue() | External() | Class() | Function() | Bound() | Partial():
                target = interpreter.attributes.load(receiver, name, frame)
                if isinstance(receiver, Class) and isinstance(target, Bound) and target.function == APPLY:
                    return self.apply(receiver.definition, arguments, node, frame)
                if (
                    isinstance(receiver, Class)
                    and target == UNKNOWN
                    and interpreter.lexicon.methods.get(name) == "makes"
                ):
                    return interpreter.instances.construct(receiver.definition, ANYTHING, node, frame)
                return interpreter.calls.call(target, arguments, node, frame)
        return interpreter.containers.call_method(receiver, name, arguments, node, frame)

    def _call_own_method(
        self, receiver: Instance, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        heap = self.interpreter.heap
        if receiver.arguments is None:
            held = name in heap.attributes(receiver)
            overriding = None if held else self._overriding(receiver.cls, name, frame.function)
            if overriding is not None:
                asked = node.func.value if node is not None and isinstance(node.func, ir.Attribute) else None
                calls = self.interpreter.calls
                promised = {heap.promised(cls): method for method, cls in overriding.items()}
                taking = [one for one, method in promised.items() if calls.takes(method, arguments.prepend(one))]
                if not taking:  # it is none of these, whatever an annotation says
                    calls.unresolved(node, frame, arguments)
                    return UNKNOWN
                return union(
                    calls.call(promised[instance], arguments.prepend(instance), node, frame)
                    for instance in dispatched(taking, asked, frame, self.interpreter.unnamed)
                )
            hiding = () if held or not frame.in_region else self.hidden.by(receiver.cls, name)
            if hiding:
                kinds = [*hiding, *members(heap.load(receiver, name, frame))]
                each = dispatched(kinds, node.func if node is not None else None, frame, kinds)
                return union(self.interpreter.calls.call(one, arguments, node, frame) for one in each)
        # An attribute that stands for the object itself would go round in circles.
        target = without(heap.load(receiver, name, frame), receiver)
        if target in (UNKNOWN, receiver):
            given = self.interpreter.records.call_method(receiver, name, arguments, frame)
            if given is not None:
                return given
            content = heap.attributes(receiver).get(CONTENT)
            if content is not None or name == "get":
                return self._call_external_super(receiver, name, arguments, node, frame)
            self.interpreter.calls.unresolved(node, frame, arguments)
            return UNKNOWN
        return self.interpreter.calls.call(target, arguments, node, frame)

    def _overriding(self, cls: ClassDefinition, name: str, running: Function) -> dict[Value, ClassDefinition] | None:
        """The methods that stand in for an abstract one of a base class, each with a class that has it.

        A class that has another method in place of the one that is running is not what it runs on.
        """
        classes = self.interpreter.classes
        own = classes.method(cls, name)
        if own is not None and not all(isinstance(m, Function) and is_abstract(m.code) for m in members(own)):
            return None
        if own is None and classes.find(cls, name) is not None:
            return None
        found: dict[Value, ClassDefinition] = {}
        for subclass in classes.subclasses(cls):
            method = classes.method(subclass, name)
            if method is not None and method != own and not self._replaces(subclass, cls, running):
                found.setdefault(method, subclass)
        return found or None

    def _replaces(self, subclass: ClassDefinition, cls: ClassDefinition, running: Function) -> bool:
        """Whether a class has a method of its own for one of its base class that is running, and does not call it."""
        if running.owner is None or running.owner not in self.interpreter.classes.order(cls):
            return False
        own = self.interpreter.classes.method(subclass, running.code.name)
        functions = [member for member in members(own) if isinstance(member, Function)] if own is not None else []
        return bool(functions) and all(
            f.owner is not running.owner and "super" not in names_in(f.code.body) for f in functions
        )

    def special(self, value: Value, name: str, arguments: Arguments, node: ir.Node, frame: Frame) -> Value | None:
        """What an operator gives that a class of the project defines; None where none does."""
        results = []
        for member in members(value):
            found = self.interpreter.classes.find(member.cls, name) if isinstance(member, Instance) else None
            if found is not None and isinstance(found[0], ClassDefinition):
                call = ir.Call(node.mark, ir.Name(node.mark, name), ())
                results.append(self.call(member, name, arguments, call, frame))
        return union(results) if results else None

    def _call_super(
        self, receiver: Super, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        instance = receiver.receiver
        if not isinstance(instance, (Instance, Class)):
            return UNKNOWN
        classes, bind = self.interpreter.classes, self.interpreter.attributes.bind
        cls = instance.cls if isinstance(instance, Instance) else instance.definition
        if name == "__call__" and receiver.after not in classes.order(cls):  # of a metaclass
            return self.interpreter.instances.make(cls, arguments, node, frame)
        method = classes.method(cls, name, receiver.after)
        if method is not None:
            bound = union(bind(m, instance, frame) for m in members(method))
            return self.interpreter.calls.call(bound, arguments, node, frame)
        if not isinstance(instance, Instance):
            return UNKNOWN
        return self._call_external_super(instance, name, arguments, node, frame)

    def _call_external_super(
        self, instance: Instance, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        classes, heap = self.interpreter.classes, self.interpreter.heap
        bases = classes.external_bases(instance.cls)
        if name == "__init__":
            self.interpreter.instances.make_inherited(instance, arguments, node, frame)
            if arguments.positional or arguments.star is not None:
                heap.attributes(instance).setdefault(CONTENT, self.interpreter.builtins.content_of(arguments))
            return NONE
        if name == "__call__" and classes.method(instance.cls, "forward") is not None:
            return self.call(instance, "forward", arguments, node, frame)
        if name in ("forward", "__call__") and bases:
            return self.interpreter.instances.call_inherited(instance, bases[0], arguments, node, frame)
        content = heap.attributes(instance).get(CONTENT)
        if content is not None:
            return self.interpreter.containers.call_method(content, name, arguments, node, frame)
        if name == "get" and arguments.positional and classes.method(instance.cls, "__getitem__") is not None:
            # What a mapping class inherits is made of its own items.
            key = Arguments(arguments.positional[:1])
            found = self.call(instance, "__getitem__", key, node, frame)
            return union((found, *(arguments.positional[1:] or (NONE,))))
        if name == "__setattr__":
            return self.interpreter.calls.call_external_method(f"object.{name}", instance, arguments, node, frame)
        for base in bases:
            if self.interpreter.catalogue.find(f"{base}.{name}") is not None:
                return self.interpreter.calls.call_external_method(f"{base}.{name}", instance, arguments, node, frame)
        return UNKNOWN

    def apply(self, cls: ClassDefinition, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`Function.apply` runs `forward`; its `backward` waits for the backward pass."""
        forward = self.interpreter.classes.method(cls, "forward")
        if forward is None:
            return UNKNOWN
        if frame.in_region:
            frame.sink.applied.setdefault(Class(cls))
        takes_context = self.interpreter.classes.method(cls, "setup_context") is None
        given = arguments.prepend(self.interpreter.classes.applied_as(cls)) if takes_context else arguments
        bound = union(self.interpreter.attributes.bind(member, Class(cls), frame) for member in members(forward))
        return self.interpreter.calls.call(bound, given, node, frame)


def is_abstract(code: ir.Code) -> bool:
    """Whether a method only says that a subclass has it."""
    return all(isinstance(statement, _ABSTRACT) for statement in code.body)


def _likely(receivers: list[Value]) -> Confidence:
    """How likely one of several receivers is a tensor of its place: hardly, if it was an array of the host as well."""
    if any(isinstance(receiver, Host) and receiver.kind == "array" for receiver in receivers):
        return Confidence.LOW
    places = {receiver.place for receiver in receivers if isinstance(receiver, Tensor)}
    return Confidence.MEDIUM if len(places) > 1 else Confidence.HIGH
