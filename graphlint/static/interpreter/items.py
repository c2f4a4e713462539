"""A container and an index or key in, the item out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import Class, Instance
from graphlint.static.interpreter.heap import CONTENT
from graphlint.static.syntax import ir
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    External,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Items:
    """Reads items."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    def subscript(self, node: ir.Subscript, frame: Frame) -> Value:
        value = self.interpreter.eval(node.value, frame)
        index = self.interpreter.eval(node.index, frame)
        results = []
        for member in members(value):
            if isinstance(member, (Tensor, Unknown)):
                results.append(self.interpreter.tensors.index(member, node, index, frame))
            elif isinstance(member, Instance):
                results.append(self._instance_item(member, index, node, frame))
            elif member != NONE:
                if isinstance(member, Sequence):
                    self.interpreter.tensors.check_list_index(node, index, frame)
                if isinstance(member, Sequence) and isinstance(node.index, ir.Slice):
                    results.append(self._sliced(member, node.index, frame))
                else:
                    results.append(self.item(member, index))
        return union(results) if results else UNKNOWN

    def _sliced(self, value: Sequence, node: ir.Slice, frame: Frame) -> Value:
        """`value[start:stop:step]` of a list or tuple."""
        bounds = [NONE if bound is None else self.interpreter.eval(bound, frame) for bound in node.bounds]
        known = [b.value for b in bounds if isinstance(b, Const) and (b.value is None or type(b.value) is int)]
        if len(known) < len(bounds):
            return Sequence(value.kind, None, value.any_element)
        start, stop, step = (bound if isinstance(bound, int) else None for bound in known)
        if value.elements is not None:
            return Sequence(value.kind, value.elements[start : stop : step or None])
        rest = value.prefix[start or 0 :] if stop is None and step in (None, 1) and (start or 0) >= 0 else ()
        return Sequence(value.kind, None, value.element, rest)

    def _instance_item(self, value: Instance, index: Value, node: ir.Subscript, frame: Frame) -> Value:
        classes, objects = self.interpreter.classes, self.interpreter.objects
        call = ir.Call(node.mark, node.value, ())
        if classes.method(value.cls, "__getitem__") is not None:
            return self.interpreter.methods.call(value, "__getitem__", Arguments((index,)), call, frame)
        content = objects.attributes(value).get(CONTENT)
        return self.item(content, index) if content is not None else UNKNOWN

    def item(self, value: Value, index: Value, missing: list[Value] | None = None) -> Value:
        """`value[index]` of a container; `missing` is what a mapping gives for a key that it may not have."""
        if isinstance(value, Sequence):
            if isinstance(index, Const) and isinstance(index.value, int):
                if value.elements is not None:
                    inside = -len(value.elements) <= index.value < len(value.elements)
                    return value.elements[index.value] if inside else UNKNOWN
                if 0 <= index.value < len(value.prefix):
                    return value.prefix[index.value]
            if index == Host("slice"):
                return Sequence(value.kind, None, value.any_element)
            return value.any_element
        if isinstance(value, Mapping):
            return self._mapped(value, index, missing or [])
        if value == Host("str") or (isinstance(value, Const) and isinstance(value.value, str)):
            return Host("str")
        if isinstance(value, Host):
            return Host("array") if value.kind == "array" else Host("object")
        return UNKNOWN

    @staticmethod
    def _mapped(value: Mapping, index: Value, missing: list[Value]) -> Value:
        keys = list(members(index))
        held = dict(value.items)
        found = [held[key] for key in keys if key in held]
        if len(found) < len(keys):
            found += [value.other] if value.other is not None else missing
        if not all(isinstance(key, (Const, External, Class)) for key in keys):
            found.append(value.any_value)
        return union(found) if found else UNKNOWN
