"""Values and an arithmetic or bitwise operator in, the result out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.models import texts
from graphlint.static.models.containers import updated
from graphlint.static.models.tensors import Tensors
from graphlint.static.syntax import ir
from graphlint.values import (
    MAX_ELEMENTS,
    UNKNOWN,
    Arguments,
    Const,
    Host,
    Mapping,
    Sequence,
    Tensor,
    Value,
    join,
    members,
    union,
)
from graphlint.values.bounds import MAX_TEXT, is_narrow, is_small
from graphlint.values.queries import tensors_in

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "/": operator.truediv,
    "%": operator.mod,
}  # fmt: skip
_SPECIAL = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
_SPECIAL_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
_HOST_KINDS = ("int", "float", "bool", "str", "number")


class Operators:
    """Applies operators."""

    def __init__(self, evaluator: Evaluator, tensors: Tensors) -> None:
        self.evaluator = evaluator
        self.tensors = tensors

    def binary(self, node: ir.Binary, frame: Frame) -> Value:
        left, right = self.evaluator.eval(node.left, frame), self.evaluator.eval(node.right, frame)
        return self.apply(node, node.operator, left, right, frame)

    def apply(self, node: ir.Node, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        """`left sign right`."""
        name = _SPECIAL.get(sign, sign)
        special = self.evaluator.call_special
        for value, other, prefix in ((left, right, ""), (right, left, "r")):
            given = special(value, f"__{prefix}{name}__", Arguments((other,)), node, frame)
            if given is not None:
                return given
        if sign == "%" and (left == Host("str") or (isinstance(left, Const) and isinstance(left.value, str))):
            self.tensors.check_printed(node, right, frame)
            if isinstance(left, Const) and not is_narrow(str(left.value)):
                return Host("str")
            many = right.elements if isinstance(right, Sequence) and right.kind == "tuple" else None
            return texts.combined(lambda text, *given: text % given, (left, *((right,) if many is None else many)))
        for repeated, times in ((left, right), (right, left)) if sign == "*" else ():
            if isinstance(times, Tensor) and _is_repeatable(repeated, times):
                self.tensors.check_list_index(node, times, frame)
                return self._concatenated(sign, repeated, times) if isinstance(repeated, Sequence) else Host("str")
        if any(isinstance(m, Tensor) for side in (left, right) for m in members(side)):
            return self.tensors.binary(node, sign, left, right, frame)
        if isinstance(left, Const) and isinstance(right, Const) and sign in _ARITHMETIC:
            if is_small(sign, left.value, right.value):
                return folded(_ARITHMETIC[sign], left.value, right.value)
            left, right = _kind(left), _kind(right)
        if sign == "+" and texts.is_text(left) and texts.is_text(right):
            return texts.combined(texts.joined, (left, right))
        if sign in "|&" and Const(sign == "|") in (left, right):  # whatever the other side is, if it is a bool
            return Const(sign == "|")
        if isinstance(left, Sequence) and sign in ("+", "*"):
            return self._concatenated(sign, left, right)
        if isinstance(left, Mapping) and isinstance(right, Mapping) and sign == "|":
            return updated(left, right)
        kinds = [_host_kind(value) for value in (left, right)]
        if None not in kinds:
            if "array" in kinds or "object" in kinds:
                return Host("array" if "array" in kinds else "object")
            return Host("str" if "str" in kinds else "float" if sign == "/" or "float" in kinds else "int")
        return UNKNOWN

    def _concatenated(self, sign: str, left: Sequence, right: Value) -> Value:
        if sign == "*":
            is_alike = left.is_alike or (left.elements is not None and len(left.elements) == 1)
            return Sequence(left.kind, None, left.any_element, is_alike=is_alike)
        if not isinstance(right, Sequence):
            return Sequence(left.kind, None, join(left.any_element, UNKNOWN), left.first)
        is_known = left.elements is not None and right.elements is not None
        if is_known and len(left.first) + len(right.first) <= MAX_ELEMENTS:
            return Sequence(left.kind, left.first + right.first)
        prefix = left.prefix if left.elements is None else left.elements + right.prefix
        parts = [s.any_element for s in (left, right) if s.elements is None or s.elements]
        return Sequence(left.kind, None, union(parts), prefix)

    def unary(self, node: ir.Unary, frame: Frame) -> Value:
        if node.operator == "not":
            outcome = self.evaluator.condition(node.operand, frame)
            return Host("bool") if outcome is None else Const(not outcome)
        value = self.evaluator.eval(node.operand, frame)
        given = self.evaluator.call_special(value, _SPECIAL_UNARY[node.operator], Arguments(), node, frame)
        if given is not None:
            return given
        if any(isinstance(m, Tensor) for m in members(value)):
            return self.tensors.unary(value)
        kind = _host_kind(value)
        return Host(kind) if kind else UNKNOWN


def folded(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Value:
    try:
        result = function(left, right)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return UNKNOWN
    if isinstance(result, (str, bytes)) and len(result) > MAX_TEXT:
        return Host("str")
    return Const(result) if isinstance(result, (bool, int, float, str)) else UNKNOWN


def _kind(value: Const) -> Value:
    """What is left of a constant that is not worked with."""
    return Host(type(value.value).__name__) if isinstance(value.value, (bool, int, float, str)) else UNKNOWN


def _is_repeatable(value: Value, times: Tensor) -> bool:
    """Whether a list or a text may be repeated so often.

    Python repeats nothing by a tensor of floats (TypeError); a tuple of tensors is what an operation gives, and is not
    meant to be repeated.
    """
    if times.dtype is not None and "float" in times.dtype:
        return False
    if not isinstance(value, Sequence):
        return _host_kind(value) == "str"
    return value.kind == "list" or (value.kind == "tuple" and not any(tensors_in(value)))


def _host_kind(value: Value) -> str | None:
    if isinstance(value, Host) and value.kind in (*_HOST_KINDS, "array", "object"):
        return value.kind
    if isinstance(value, Const) and isinstance(value.value, (bool, int, float, str)):
        return type(value.value).__name__
    return None
