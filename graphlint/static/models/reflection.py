"""`isinstance`, `hasattr`, `getattr`, `setattr` and `type` of values."""

from __future__ import annotations

from graphlint.rulebook.operations import TENSOR
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import ANY, Bound, Class, Function, Instance, ModuleValue, Partial
from graphlint.static.models.modules import write_named
from graphlint.static.syntax import ir
from graphlint.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Value,
    members,
    union,
)

_CONSTANTS = {f"builtins.{kind.__name__}": kind for kind in (int, float, str, bool)}
_CODE = {
    "builtins.type": Class,
    "types.FunctionType": Function,
    "types.LambdaType": Function,
    "types.MethodType": Bound,
}
_PROTOCOL = "typing.Protocol"
_SINGLE = frozenset({*_CONSTANTS, "builtins.bytes", "builtins.complex", "builtins.NoneType"})  # which hold nothing


class Reflection:
    """Asks values what they are and have."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self._tensor_types = evaluator.lexicon.tensors["every"]
        self._arrays = evaluator.lexicon.tensors["arrays"]
        self._single = evaluator.lexicon.tensors["single"]
        self._called_tensors = tuple(evaluator.lexicon.tensors["called"])

    def isinstance(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if len(arguments.positional) < 2:
            return Host("bool")
        value, classes = arguments.positional[:2]
        wanted = classes.elements if isinstance(classes, Sequence) and classes.elements is not None else (classes,)
        answers = {self.is_instance(member, cls) for member in members(value) for cls in wanted}
        if len(wanted) > 1 and len(list(members(value))) == 1:
            return TRUE if True in answers else FALSE if answers == {False} else Host("bool")
        return Const(answers.pop()) if len(answers) == 1 and None not in answers else Host("bool")

    def is_tensor(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`torch.is_tensor`."""
        first = next(arguments.all_values(), UNKNOWN)
        return self.isinstance(Arguments((first, External(TENSOR))), node, frame)

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether a value is an instance of a class, as far as both are known."""
        match cls:
            case Class():
                return self._is_of_project(value, cls)
            case External():
                return self._is_of_elsewhere(value, cls.name)
        return None

    def _is_of_project(self, value: Value, cls: Class) -> bool | None:
        match value:
            case Instance():
                if cls.definition in self.evaluator.class_order(value.cls):
                    return True
                return None if value.arguments is None else False
            case Tensor() | Const() | Host() | Sequence() | Mapping() | Function():
                return False
        return None

    def _is_of_elsewhere(self, value: Value, cls: str) -> bool | None:
        is_tensor = cls in self._tensor_types
        is_single = cls in self._single
        if cls in self._arrays and isinstance(value, (Const, Host, Mapping, Sequence)) and value != Host("object"):
            return value == Host("array")
        if cls in _CODE:
            return self._is_code(value, cls)
        match value:
            case Tensor():
                return True if is_tensor else None if cls.endswith(self._called_tensors) else False
            case Const():
                if cls in _CONSTANTS:
                    return isinstance(value.value, _CONSTANTS[cls])
                return False if is_tensor or cls.startswith("builtins.") else None
            case Host():
                return True if cls == f"builtins.{value.kind}" else False if is_tensor else None
            case Sequence():
                is_other = is_tensor or cls == "builtins.dict" or cls in _SINGLE or is_single
                return True if cls == f"builtins.{value.kind}" else False if is_other else None
            case Mapping():
                return True if cls == "builtins.dict" else False if is_tensor or cls in _SINGLE or is_single else None
            case Instance():
                bases = self.evaluator.external_bases(value.cls)
                may_be_tensor = any(base.endswith(self._called_tensors) for base in bases)
                return True if cls in bases else False if is_single or (is_tensor and not may_be_tensor) else None
        return None

    def _is_code(self, value: Value, cls: str) -> bool | None:
        """Whether a value is a class, a function or a method; what is promised by a protocol may be any of them."""
        match value:
            case Class() | Function() | Bound() | Partial():
                return isinstance(value, _CODE[cls])
            case Instance() if {cls, _PROTOCOL}.isdisjoint(self.evaluator.external_bases(value.cls)):
                return False
            case Const() | Tensor() | Sequence() | Mapping():
                return False
        return None

    def hasattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        match arguments.positional:
            case value, Const(value=str(name)):
                return self._has(value, name)
        return Host("bool")

    def _has(self, value: Value, name: str) -> Value:
        evaluator = self.evaluator
        match value:
            case ModuleValue():
                return Const(evaluator.module_member(value.module, name) is not None)
            case External() if evaluator.catalogue.find(f"{value.name}.{name}") is not None:
                return TRUE
            case Instance() if name in evaluator.held(value) and value.arguments is not None:
                return TRUE
            case Tensor() if evaluator.catalogue.method(name) is not None:
                return TRUE
            case Instance() if evaluator.lacks(value, name):
                return FALSE
        return Host("bool")

    def getattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        if len(values) < 2:
            return UNKNOWN
        results = list(values[2:3])
        for name in members(values[1]):
            if isinstance(name, Const) and isinstance(name.value, str):
                results += self._named(values[0], name.value, len(values) > 2, frame)
            elif isinstance(values[0], Instance):
                held = self.evaluator.held(values[0])
                results.append(held.get(ANY, UNKNOWN))
            elif isinstance(values[0], ModuleValue):
                results.append(_classes_of(values[0]))
            else:
                results.append(UNKNOWN)
        return _like_default(values[2:3], results)

    def _named(self, value: Value, name: str, has_default: bool, frame: Frame) -> list[Value]:
        """The attribute of that name; nothing of an object that lacks it, where there is a default.

        One of several modules that lacks it is not meant: modules and names are chosen together.
        """
        owners = list(members(value))
        kept = [
            m
            for m in owners
            if not (has_default and isinstance(m, Instance) and self.evaluator.lacks(m, name))
            and not (len(owners) > 1 and isinstance(m, ModuleValue) and self._has(m, name) == FALSE)
        ]
        return [self.evaluator.attribute(member, name, frame) for member in kept]

    def setattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        receiver, name, value, *_ = *arguments.positional, UNKNOWN, UNKNOWN, UNKNOWN
        if isinstance(receiver, Instance):
            write_named(self.evaluator, receiver, name, value, node, frame)
        return NONE


def _like_default(default: tuple[Value, ...], results: list[Value]) -> Value:
    """What may be there, or its default: of what nobody knows, that says at least whether it is a list."""
    match default:
        case (Sequence(kind="list" | "tuple" as kind),) if UNKNOWN in results:
            return Sequence(kind, None, UNKNOWN)
    return union(results)


def _classes_of(module: ModuleValue) -> Value:
    """What a name that is not known picks in a module: it is a registry of its classes."""
    classes = [Class(cls) for name, cls in module.module.index.classes.items() if not name.startswith("_")]
    return union(classes) if classes else UNKNOWN


def type_of(value: Value) -> Value:
    match value:
        case Instance():
            return Class(value.cls)
        case Const():
            return External(f"builtins.{value.kind.__name__}")
        case Sequence():
            return External(f"builtins.{value.kind}")
        case Mapping():
            return External("builtins.dict")
        case Tensor():
            return External(TENSOR)
    return UNKNOWN
