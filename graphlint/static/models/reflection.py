"""`isinstance`, `hasattr`, `getattr`, `setattr` and `type` of values."""

from __future__ import annotations

from graphlint.operations import TENSOR
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import ANY, Class, Function, Instance, ModuleValue
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


class Reflection:
    """Asks values what they are and have."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.tensor_types = evaluator.lexicon.tensors["every"]
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

    def is_instance(self, value: Value, cls: Value) -> bool | None:
        """Whether a value is an instance of a class, as far as both are known."""
        if isinstance(cls, Class):
            if isinstance(value, Instance):
                if cls.definition in self.evaluator.class_order(value.cls):
                    return True
                return None if value.arguments is None else False
            return False if isinstance(value, (Tensor, Const, Host, Sequence, Mapping, Function)) else None
        if not isinstance(cls, External):
            return None
        if isinstance(value, Tensor):
            if cls.name in self.tensor_types:
                return True
            return None if cls.name.endswith(self._called_tensors) else False
        if isinstance(value, Const):
            kind = {"builtins.int": int, "builtins.float": float, "builtins.str": str, "builtins.bool": bool}.get(
                cls.name
            )
            if kind is not None:
                return isinstance(value.value, kind)
            return False if cls.name in self.tensor_types or cls.name.startswith("builtins.") else None
        if isinstance(value, Host):
            if cls.name == f"builtins.{value.kind}":
                return True
            return False if cls.name in self.tensor_types else None
        if isinstance(value, Sequence):
            if cls.name == f"builtins.{value.kind}":
                return True
            others = (*self.tensor_types, "builtins.dict", "builtins.str", "builtins.int")
            return False if cls.name in others else None
        if isinstance(value, Mapping):
            return True if cls.name == "builtins.dict" else False if cls.name in self.tensor_types else None
        if isinstance(value, Instance):
            bases = self.evaluator.external_bases(value.cls)
            if cls.name in bases:
                return True
            may_be_tensor = any(base.endswith(self._called_tensors) for base in bases)
            return False if cls.name in self.tensor_types and not may_be_tensor else None
        return None

    def hasattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if len(arguments.positional) == 2:
            value, name = arguments.positional
            if isinstance(name, Const) and isinstance(name.value, str):
                if isinstance(value, ModuleValue):
                    return Const(self.evaluator.module_member(value.module, name.value) is not None)
                find = self.evaluator.catalogue.find
                if isinstance(value, External) and find(f"{value.name}.{name.value}") is not None:
                    return TRUE
                if isinstance(value, Instance) and name.value in self.evaluator.held(value):
                    return TRUE if value.arguments is not None else Host("bool")
                if isinstance(value, Tensor) and self.evaluator.catalogue.method(name.value) is not None:
                    return TRUE
        return Host("bool")

    def getattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        values = arguments.positional
        if len(values) < 2:
            return UNKNOWN
        results = list(values[2:3])
        for name in members(values[1]):
            if isinstance(name, Const) and isinstance(name.value, str):
                results.append(self.evaluator.attribute(values[0], name.value, frame))
            elif isinstance(values[0], Instance):
                held = self.evaluator.held(values[0])
                results.append(held.get(ANY, UNKNOWN))
            else:
                results.append(UNKNOWN)
        return union(results)

    def setattr(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        receiver, name, value, *_ = *arguments.positional, UNKNOWN, UNKNOWN, UNKNOWN
        if isinstance(receiver, Instance):
            write_named(self.evaluator, receiver, name, value)
        return NONE


def type_of(value: Value) -> Value:
    if isinstance(value, Instance):
        return Class(value.cls)
    if isinstance(value, Const):
        return External(f"builtins.{type(value.value).__name__}")
    if isinstance(value, (Mapping, Sequence)):
        return External(f"builtins.{value.kind if isinstance(value, Sequence) else 'dict'}")
    return External(TENSOR) if isinstance(value, Tensor) else UNKNOWN
