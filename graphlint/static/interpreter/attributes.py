"""A value and a name in, the attribute of that name out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.reading.questions import Registered
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.assumptions import FIRST_READ, Assumption
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import (
    ACCELERATOR,
    APPLY,
    Bound,
    Class,
    Function,
    Instance,
    Method,
    ModuleValue,
    PackageValue,
    Partial,
    Super,
)
from graphlint.static.index.parts import is_set_by_name
from graphlint.static.index.project import Named, Project
from graphlint.static.interpreter.decorators import KEPT_PROPERTY, PROPERTIES
from graphlint.static.interpreter.names import loosened
from graphlint.static.models import results
from graphlint.static.models.builtins import MAKING
from graphlint.static.models.containers import entry
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.queries import placed_by_name

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Attributes:
    """Reads attributes."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        hosts = [Const(name) for name, kind in interpreter.lexicon.devices.items() if kind == "host"]
        self._types = {Place.HOST: union(hosts), Place.DEVICE: ACCELERATOR, Place.ANYWHERE: Host("str")}

    def attribute(self, node: ir.Attribute, frame: Frame) -> Value:
        base = self.interpreter.eval(node.value, frame)
        frame.answers = []
        assumed = frame.assumed
        if frame.in_region and any(isinstance(m, Instance) and self._is_kept(m, node.attr) for m in members(base)):
            frame.assumed = (*assumed, Assumption(frame.function, node, form=FIRST_READ))
        value = placed_by_name(self.load(base, node.attr, frame), node.attr)
        frame.assumed = assumed
        if frame.in_region:
            self.interpreter.traces.attribute(node, base, value, frame)
        lexicon = self.interpreter.lexicon
        answers = lexicon.guard(node.attr)
        asked = lexicon.place_asked(node.attr) if frame.in_region else None
        if answers is None and asked is None:
            return value
        known = [m for m in members(value) if not isinstance(m, (Unknown, Method, Host))]
        if answers is not None:
            told = answers[frame.mode.value]
        elif known or any(isinstance(m, Host) for m in members(value)):
            # What a region computes with lies where the capture is, if nothing puts it elsewhere.
            told = Const(asked is Place.DEVICE)
        else:
            return value
        return value if len(known) == len(list(members(value))) else union((*known, told))

    def load(self, value: Value, name: str, frame: Frame) -> Value:
        """An attribute of a value."""
        found = [self._attribute_of(member, name, frame) for member in members(value) if member != NONE]
        return union(found) if found else UNKNOWN

    def _is_kept(self, value: Instance, name: str) -> bool:
        """Whether an attribute of an older object is computed where it is read first, and kept from then on."""
        method = None if value.in_region else self.interpreter.classes.method(value.cls, name)
        bound = (m for m in members(method or UNKNOWN) if isinstance(m, Bound))
        return any(isinstance(m.function, External) and m.function.name == KEPT_PROPERTY for m in bound)

    def bind(self, method: Value, receiver: Value, frame: Frame) -> Value:
        """What is found on a class, as the object sees it: a method, or what a property or descriptor gives."""
        if isinstance(method, Bound) and isinstance(method.function, External):
            name = method.function.name
            if name in PROPERTIES:
                return self.interpreter.calls.call(method.receiver, Arguments((receiver,)), None, frame)
            if name == "builtins.staticmethod":
                return method.receiver
            if name == "builtins.classmethod":
                return Bound(method.receiver, _class_of(receiver))
        if isinstance(method, Instance) and (given := self.described(method, receiver, frame)) is not None:
            return given
        if isinstance(receiver, Class):
            return method
        return Bound(method, receiver)

    def described(self, descriptor: Instance, receiver: Value, frame: Frame) -> Value | None:
        """What the `__get__` of an object that a class holds gives for one of its objects; None if it has none."""
        getter = self.interpreter.classes.method(descriptor.cls, "__get__")
        if getter is None:
            return None
        read = NONE if isinstance(receiver, Class) else receiver
        return self.interpreter.calls.call(getter, Arguments((descriptor, read, _class_of(receiver))), None, frame)

    def _attribute_of(self, value: Value, name: str, frame: Frame) -> Value:
        interpreter = self.interpreter
        match value:
            case Instance():
                return self._instance_attribute(value, name, frame)
            case External() if value in interpreter.classes.members:
                return self._enum_attribute(value, name, frame)
            case External() if name == "__name__":
                return Const(value.name.rpartition(".")[2])
            case ModuleValue() | PackageValue() | External():
                return interpreter.names.attribute_of_module(value, name)
            case Tensor():
                return interpreter.tensors.attribute(value, name)
            case DeviceName() if name == "type":
                return self._types[value.place]
            case Class():
                return self._class_member(value, name, frame)
            case Super(receiver=Instance() as receiver):
                found = interpreter.heap.member(receiver, name, frame, value.after)
                return found if found is not None else UNKNOWN
            case Super() | Host(kind="object"):
                return UNKNOWN
            case ExternalObject():
                return self._external_attribute(value, name)
            case Sequence(kind="tuple") if name in interpreter.lexicon.tensors["fields"]:
                return value.any_element
            case Host(kind="array") if self._is_view(name):
                return value
            case Sequence() | Mapping() | Const() | Host():
                return entry(value, name) or Method(value, name)
            case Function() | Bound() | Partial():
                return self._callable_attribute(value, name)
        return self._typical(name)

    def _is_view(self, name: str) -> bool:
        """Whether an attribute of an array is an array, as that of a tensor is a tensor: `order.T`."""
        operation = self.interpreter.catalogue.method(name)
        return operation is not None and operation.attribute and results.plain(operation.returns) == UNKNOWN

    def _enum_attribute(self, value: External, name: str, frame: Frame) -> Value:
        """An attribute of a member of an enum: its methods and properties ask which one it is."""
        classes = self.interpreter.classes
        cls = classes.members[value]
        method = classes.method(cls, name)
        if method is not None:
            return union(self.bind(member, value, frame) for member in members(method))
        if name == "name":
            return Const(value.name.rpartition(".")[2])
        return UNKNOWN

    @staticmethod
    def _callable_attribute(value: Function | Bound | Partial, name: str) -> Value:
        match value, name:
            case _, "__call__":
                return value
            case Partial(), "func":
                return value.function
            case Bound(), "__self__":
                return value.receiver
            case Function(), "__code__":
                names = tuple(Const(parameter.name) for parameter in value.code.parameters)
                return ExternalObject("types.CodeType", (("co_varnames", Sequence("tuple", names)),))
        return UNKNOWN

    def _instance_attribute(self, value: Instance, name: str, frame: Frame) -> Value:
        heap = self.interpreter.heap
        if name == "__class__":
            return Class(value.cls)
        if name == "__dict__":
            return Mapping(tuple((Const(k), v) for k, v in heap.attributes(value).items()), UNKNOWN)
        if name == "__call__":
            return value
        found = heap.load(value, name, frame)
        return self._typical(name) if found == UNKNOWN else found

    def _typical(self, name: str) -> Value:
        """An attribute of something that is not known: its name may tell that it is one of a tensor."""
        if name not in self.interpreter.lexicon.unknown["attributes"]:
            return UNKNOWN
        operation = self.interpreter.catalogue.method(name)
        return UNKNOWN if operation is None else results.plain(operation.returns)

    def _class_member(self, value: Class, name: str, frame: Frame) -> Value:
        classes, heap = self.interpreter.classes, self.interpreter.heap
        cls = value.definition
        method = classes.method(cls, name)
        if method is not None:
            return union(self.bind(m, value, frame) for m in members(method))
        found = classes.class_attribute(cls, name)
        if found is not None:
            given = heap.modes.switches.value(cls, name, frame.around)
            is_switch = isinstance(found, Const) and is_set_by_name(cls.module, cls.name, name)
            return given if given is not None else loosened(found) if is_switch else found
        if name == "apply" and classes.applied_as(cls) != UNKNOWN:
            return Bound(APPLY, value)
        if name == MAKING:
            return External(f"builtins.object.{MAKING}")  # a class without one of its own has that of all objects
        return Const(cls.name) if name in ("__name__", "__qualname__") else UNKNOWN

    def _external_attribute(self, value: ExternalObject, name: str) -> Value:
        operation = self.interpreter.catalogue.find(f"{value.cls}.{name}")
        if operation is not None and operation.attribute:
            return results.plain(operation.returns)
        lexicon = self.interpreter.lexicon
        if name in lexicon.modules["attributes"] and lexicon.is_module(value.cls):
            return self.interpreter.tensors.parameter()
        for key, held in value.arguments:
            if key == name:
                return held
        if operation is None and lexicon.is_module(value.cls) and self._is_put_on(name):
            return replace(self.interpreter.tensors.parameter(), sure=Confidence.MEDIUM)
        return Method(value, name)

    def _is_put_on(self, name: str) -> bool:
        """Whether a file registers a tensor by a name on another object: `layer.register_buffer("scale", scale)`."""
        lexicon, project = self.interpreter.lexicon, self.interpreter.project
        if name in lexicon.methods or self.interpreter.catalogue.method(name) is not None:
            return False
        return bool(_registered(project, lexicon).files(name))


def _class_of(receiver: Value) -> Value:
    return Class(receiver.cls) if isinstance(receiver, Instance) else receiver


@remembered_in_run
def _registered(project: Project, lexicon: Lexicon) -> Named:
    """The names of the tensors that files register on other objects than their own."""
    methods = sorted(method for method, does in lexicon.methods.items() if does == "registers_tensors")
    return Named(project, Registered(methods))
