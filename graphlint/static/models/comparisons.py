"""Two values and `==`, `<`, `is`, `in` and the like in, a boolean or a tensor of booleans out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from graphlint.rule import Truth
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import ACCELERATOR, Class, Function
from graphlint.static.models.containers import as_found
from graphlint.static.models.operators import folded
from graphlint.static.models.tensors import Tensors
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
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
from graphlint.values.queries import device_tensor, tensors_in, truth, unsure

_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SAME = {"==": True, "is": True, "!=": False, "is not": False}
_SPECIAL_COMPARE = {
    "==": "__eq__", "!=": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
    "in": "__contains__", "not in": "__contains__",
}  # fmt: skip


class Comparisons:
    """Compares values."""

    def __init__(self, evaluator: Evaluator, tensors: Tensors) -> None:
        self.evaluator = evaluator
        self.tensors = tensors

    def compare(self, node: ir.Compare, frame: Frame) -> Value:
        left = self.evaluator.eval(node.left, frame)
        outcomes: list[bool | None] = []
        result: Value = UNKNOWN
        for index, (sign, right_node) in enumerate(node.comparisons):
            right = self.evaluator.eval(right_node, frame)
            asked = self._status_asked(node.left, right_node, sign, frame) if len(node.comparisons) == 1 else None
            result = self._compared(node, sign, left, right, frame) if asked is None else Const(asked)
            if index + 1 < len(node.comparisons):
                self.evaluator.test(node, result, frame)
            outcomes.append(truth(result))
            left = right
        if len(outcomes) == 1:
            return result
        if False in outcomes:
            return Const(False)
        tensor = [m for m in members(result) if isinstance(m, Tensor)]
        return union(tensor) if tensor else Const(True) if None not in outcomes else Host("bool")

    def _status_asked(self, left: ir.Expr, right: ir.Expr, sign: str, frame: Frame) -> bool | None:
        """What a comparison with a status of streams comes to in a capture: theirs is that they are captured."""
        if frame.mode is Mode.CAPTURE and sign in _SAME:
            statuses = self.evaluator.lexicon.statuses
            names = {last_name(left), last_name(right)}
            for kind, holds in (("capturing", True), ("idle", False)):
                if not names.isdisjoint(statuses[kind]):
                    return holds is _SAME[sign]
        return None

    def _compared(self, node: ir.Compare, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        if sign in ("is", "is not"):
            same = self.same(left, right)
            return Host("bool") if same is None else Const(same is (sign == "is"))
        holder, other = (right, left) if sign in ("in", "not in") else (left, right)
        given = self.evaluator.call_special(holder, _SPECIAL_COMPARE[sign], Arguments((other,)), node, frame)
        if given is not None:
            return given if sign not in ("!=", "not in") else Host("bool")
        if sign in ("in", "not in"):
            return self._contained(node, sign, left, right, frame)
        compared_with_none = sign in ("==", "!=") and NONE in (left, right)  # which is no operation of a tensor
        if not compared_with_none and any(isinstance(m, Tensor) for side in (left, right) for m in members(side)):
            return self._of_tensors(left, right, sign, frame)
        if sign in ("==", "!="):
            same = self.same(left, right)
            return Host("bool") if same is None else Const(same is (sign == "=="))
        if isinstance(left, Const) and isinstance(right, Const):
            return folded(_ORDER[sign], left.value, right.value)
        return Host("bool")

    def _of_tensors(self, left: Value, right: Value, sign: str, frame: Frame) -> Value:
        """Compare tensors; with a string, a dtype or a device they are compared as objects, which gives no tensor."""
        if sign in ("==", "!="):
            sides = [side for side in (left, right) if not any(isinstance(m, Tensor) for m in members(side))]
            if any(all(map(self._is_no_operand, members(side))) for side in sides):
                return Host("bool")
            if Host("bool") in sides:
                left, right = _as_flags(left), _as_flags(right)
        return self.tensors.compare(left, right, frame)

    def _is_no_operand(self, value: Value) -> bool:
        match value:
            case DeviceName() | Host(kind="str" | "dtype") | Const(value=str()):
                return True
            case External():
                return ":" in value.name or value.name in self.evaluator.lexicon.dtypes
        return value == NONE

    def same(self, left: Value, right: Value) -> bool | None:
        """Whether two values are the same constant, if that is known."""
        answers: set[bool | None] = set()
        for one in members(left):
            for other in members(right):
                answers.add(self._same_member(one, other))
        return answers.pop() if len(answers) == 1 else None

    def _contained(self, node: ir.Compare, sign: str, left: Value, right: Value, frame: Frame) -> Value:
        """Look for a value; a string, a dtype or a device is not sought in a tensor."""
        compared = right
        if device_tensor(right) is None and isinstance(right, Sequence) and any(True for _ in tensors_in(right)):
            compared = left
        is_operand = not all(map(self._is_no_operand, members(left)))
        if is_operand and device_tensor(compared) is not None:
            self.evaluator.observe(frame, node, Truth(compared, "search"))
            return Host("bool")
        answer: bool | None = None
        if isinstance(right, Sequence) and right.elements is not None:
            answers = {self.same(left, element) for element in right.elements}
            answer = True if True in answers else False if answers <= {False} else None
        elif isinstance(right, Mapping) and isinstance(left, (Const, Class, External)):
            right = as_found(self.evaluator, right, node.comparisons[-1][1], frame)
            held = left in dict(right.items)
            is_open = left in right.optional if held else right.other is not None
            answer = None if is_open else held
        elif isinstance(right, DeviceName) and isinstance(left, Const):
            answer = self._is_on(left.value, right.place)
        return Host("bool") if answer is None else Const(answer is (sign == "in"))

    def _is_on(self, device: object, place: Place) -> bool | None:
        """Whether devices of a type are those of a place, if both are known."""
        named = self.evaluator.lexicon.place(device)
        return None if named is None or place is Place.ANYWHERE else named is place

    def _same_member(self, left: Value, right: Value) -> bool | None:
        match left, right:
            case (Unknown(), _) | (_, Unknown()):
                return None
            case Const(), Const():
                return left == right if NONE in (left, right) else bool(left.value == right.value)
            case _ if left == NONE or right == NONE:
                # What a library of the host looks up, as `os.environ.get("X")` does, may be nothing.
                return None if Host("object") in (left, right) else left == right
            case _ if ACCELERATOR in (left, right) and left != right:
                other = left if right == ACCELERATOR else right
                kind = self.evaluator.lexicon.devices.get(getattr(other, "value", ""))
                return None if kind is None else kind == "device"
            case (DeviceName(place=place), Const(value=str(text))) | (Const(value=str(text)), DeviceName(place=place)):
                is_elsewhere = self._is_on(text.partition(":")[0], place) is False
                return False if is_elsewhere else None  # which number the device has is not known
            case External(), External():
                # Members of one enum, or two constants of one module, differ where their names do.
                return True if left == right else False if ":" in left.name and ":" in right.name else None
            case ((Class() | Function()), (Class() | Function())):
                return left == right
        return None


def _as_flags(value: Value) -> Value:
    """What is compared with a flag of the host: flags as well, and hardly tensors, but for masks."""
    is_mask = any(isinstance(member, Tensor) and member.is_mask for member in members(value))
    return value if is_mask else unsure(value)
