"""A container and an index or key in, the item out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.program import CONTENT, Instance
from graphlint.static.interpreter import registries
from graphlint.static.models.containers import item
from graphlint.static.syntax import ir
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    ExternalObject,
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
        if frame.in_region:
            self.chosen(node, value, index, frame)
        results: list[Value] = []
        may_be_tensor = any(isinstance(member, (Tensor, Unknown)) for member in members(value))
        for member in members(value):
            match member:
                case Tensor() if isinstance(index, Const) and isinstance(index.value, str):
                    results.append(UNKNOWN)  # it is a table, as no tensor has items by words
                case Tensor() | Unknown():
                    results.append(self.interpreter.tensors.index(member, node, index, frame))
                case Instance():
                    results.append(self._instance_item(member, index, node, frame))
                case Sequence():
                    if not may_be_tensor:  # which a tensor picks rows of
                        self.interpreter.tensors.check_list_index(node, index, frame)
                    bounds = node.index if isinstance(node.index, ir.Slice) else None
                    results.append(item(member, index) if bounds is None else self._sliced(member, bounds, frame))
                case Mapping():
                    registries.note_unnamed(self.interpreter, member, index, frame)
                    self.interpreter.optimizers.taken(node, member, index, frame)
                    results.append(item(member, index))
                case _ if member != NONE:
                    results.append(item(member, index))
        return union(results) if results else UNKNOWN

    def chosen(self, node: ir.Subscript, value: Value, index: Value, frame: Frame) -> None:
        """Which item is read or written, where that decides what runs: of a tensor, or of several of them."""
        if any(isinstance(m, (Tensor, Unknown)) or self._computes(m) for m in members(value)):
            unknown = all(isinstance(m, Unknown) for m in members(value))
            parts = node.index.elements if isinstance(node.index, ir.Display) else (node.index,)
            values = index.elements if isinstance(index, Sequence) and index.elements is not None else (index,)
            for part, chosen in zip(parts, values, strict=False):
                if not isinstance(part, ir.Slice):
                    self.interpreter.used("item" if unknown else "index", part, chosen, frame)

    def _computes(self, value: Value) -> bool:
        """Whether a container holds tensors, or objects that compute some: a stream only orders what is computed."""
        if not isinstance(value, (Sequence, Mapping)):
            return False
        held = value.any_element if isinstance(value, Sequence) else value.any_value
        return any(
            isinstance(member, (Tensor, Instance))
            or (isinstance(member, ExternalObject) and member.cls not in self.interpreter.lexicon.life["streams"])
            for member in members(held)
        )

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
        classes, heap = self.interpreter.classes, self.interpreter.heap
        call = ir.Call(node.mark, node.value, ())
        if classes.method(value.cls, "__getitem__") is not None:
            return self.interpreter.methods.call(value, "__getitem__", Arguments((index,)), call, frame)
        record = self.interpreter.records.held(value)
        if record is not None:
            return self._sliced(record, node.index, frame) if isinstance(node.index, ir.Slice) else item(record, index)
        content = heap.attributes(value).get(CONTENT)
        return item(content, index) if content is not None else UNKNOWN
