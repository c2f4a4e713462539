"""The catalogue's conditions and the arguments of a call in, how surely they hold out.

Long, since each condition is told apart from what is not known here.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from graphlint.finding import Confidence
from graphlint.rulebook.effects import Condition, Effect
from graphlint.values import (
    NONE,
    UNKNOWN,
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
)
from graphlint.values.queries import is_number, may_lie_anywhere, place_of_device, tensors_in, truth

HIGH, MEDIUM, LOW = Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW
_ARRAY = Host("array")  # of NumPy


@dataclass(slots=True)
class Facts:
    """The arguments of one call by parameter, what tells objects apart among them, and what is in force around it.

    Where it `is_open`, a star hides some of them: what seems to be left out may be given.
    """

    bound: dict[str, tuple[Value, ...]]
    identities: abc.Mapping[str, tuple[Hashable | None, ...]] = field(default_factory=dict)
    around: frozenset[Value] = frozenset()
    is_open: bool = False

    def value(self, name: str) -> Value | None:
        """The argument for a parameter, None if it is left out; a dotted name is what the object was made with."""
        owner, dot, field = name.partition(".")
        if dot:
            holder = self.value(owner)
            return holder.argument(field) if isinstance(holder, ExternalObject) else None if holder is None else UNKNOWN
        values = self.bound.get(name)
        if not values:
            return None
        return values[0] if len(values) == 1 else Sequence("arguments", values)

    def all_values(self) -> list[Value]:
        return [value for values in self.bound.values() for value in values]

    @property
    def makes_nothing(self) -> bool:
        """Whether a tensor that is made of them has no elements: `tensor([])`, `empty(0, 3)`, `Tensor()`."""
        sizes = self.bound.get("size", ())
        extents = [one for size in sizes for one in (size.first if isinstance(size, Sequence) else (size,))]
        is_empty = any(isinstance(one, Sequence) and one.elements == () for one in self.bound.get("data", ()))
        return is_empty or Const(0) in extents or not (self.is_open or self.all_values())

    def first(self) -> Value | None:
        return next((value for values in self.bound.values() for value in values), None)

    def first_tensor(self) -> Tensor | None:
        return next((tensor for value in self.all_values() for tensor in tensors_in(value)), None)

    def device(self) -> Tensor | None:
        return next((t for value in self.all_values() for t in tensors_in(value) if t.place is Place.DEVICE), None)

    def confidence(self, effect: Effect) -> Confidence | None:
        """How sure it is that the effect happens; None if it does not."""
        least = effect.confidence
        for condition in effect.when:
            answer = self.holds(condition)
            if answer is None:
                return None
            least = min(least, answer)
        return least

    def holds(self, condition: Condition) -> Confidence | None:
        """How surely a condition holds; None if it does not."""
        if condition.predicate in ("within", "outside"):
            is_inside = ExternalObject(condition.argument) in self.around
            return HIGH if is_inside == (condition.predicate == "within") else None
        if condition.predicate == "distinct":
            return None if self._are_one(condition.argument, condition.value or "") else HIGH
        if condition.predicate == "same":
            return HIGH if self._are_equal(condition.argument, condition.value or "") else None
        test = TESTS[condition.predicate]
        if condition.argument == "*":
            answers = [answer for value in self.all_values() if (answer := test(value, condition)) is not None]
            return max(answers) if answers else None
        value = self.value(condition.argument)
        answer = test(value, condition)
        return LOW if value is None and answer is not None and self._may_hide(condition.argument) else answer

    def _may_hide(self, name: str) -> bool:
        """Whether an argument that seems to be left out may be given."""
        owner, dot, _ = name.partition(".")
        holder = self.value(owner) if dot else None
        return holder.is_open if isinstance(holder, ExternalObject) else self.is_open

    def _are_equal(self, left: str, right: str) -> bool:
        """Whether two parameters are given equal constants."""
        values = [value.value if isinstance(value := self.value(name), Const) else None for name in (left, right)]
        return values[0] is not None and values[0] == values[1]

    def _are_one(self, left: str, right: str) -> bool:
        """Whether two parameters are known to be given one object."""
        objects = [set(self.identities.get(parameter, ())) for parameter in (left, right)]
        return objects[0] == objects[1] and len(objects[0]) == 1 and None not in objects[0]


def _absent(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None or value == NONE:
        return HIGH
    return LOW if NONE in members(value) or isinstance(value, Unknown) else None


def _given(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None or value == NONE:
        return None
    return LOW if {NONE, UNKNOWN} & set(members(value)) else HIGH


def _none(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value == NONE else None


def _true(value: Value | None, condition: Condition) -> Confidence | None:
    known = None if value is None else truth(value)
    return None if value is None or known is False else HIGH if known else LOW


def _not_true(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value is None else _unlike(value, True)


def _false(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value is not None and value != NONE and truth(value) is False else None


def _not_false(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value is None or value == NONE else _unlike(value, False)


def _unlike(value: Value, truth_value: bool) -> Confidence | None:
    """How surely a value has not this truth: a guess where one of those that it may be speaks for that."""
    known = truth(value)
    if known is not None:
        return None if known is truth_value else HIGH
    return (
        MEDIUM
        if any(truth(member) is not truth_value for member in members(value) if truth(member) is not None)
        else LOW
    )


def _equals(value: Value | None, condition: Condition) -> Confidence | None:
    spellings = (condition.value or "").split("|")
    if isinstance(value, Const):
        return HIGH if str(value.value) in spellings else None
    return HIGH if isinstance(value, External) and value.name in spellings else None


def _negative(value: Value | None, condition: Condition) -> Confidence | None:
    known = value.value if isinstance(value, Const) else None
    return HIGH if isinstance(known, (int, float)) and known < 0 else None


def _device(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None:
        return None
    if isinstance(value, Sequence) and value.elements is not None:
        answers = [answer for element in value.elements if (answer := _device(element, condition)) is not None]
        return max(answers) if answers else None
    places: dict[Place, Confidence] = {}
    for tensor in tensors_in(value):
        places[tensor.place] = max(places.get(tensor.place, LOW), tensor.sure)
    if Place.DEVICE in places:
        sure = min(places[Place.DEVICE], MEDIUM) if Place.HOST in places else places[Place.DEVICE]
    elif Place.ANYWHERE in places:
        sure = min(places[Place.ANYWHERE], LOW if Place.HOST in places else MEDIUM)
    else:
        return None
    if any(is_number(member) or member == _ARRAY for member in members(value)):
        return LOW
    return min(sure, MEDIUM) if UNKNOWN in members(value) else sure  # on another way it is what nobody knows


def _host(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else list(tensors_in(value))
    sure = [tensor.sure for tensor in found if tensor.place is Place.HOST]
    if not sure:
        return None
    if len(sure) == len(found):
        return max(sure)
    is_vague = UNKNOWN in members(value or NONE) and any(tensor.place is Place.ANYWHERE for tensor in found)
    is_guess = is_vague or may_lie_anywhere(found)  # where hardly anything is known, it is one guess of several
    return LOW if is_guess else min(max(sure), MEDIUM)


def _tensor(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None:
        return None
    return HIGH if any(True for _ in tensors_in(value)) else LOW if isinstance(value, Unknown) else None


def _holds_nothing(value: Value) -> bool:
    """Whether a list is empty, or one of empty lists."""
    return isinstance(value, Sequence) and value.elements is not None and all(map(_holds_nothing, value.elements))


def _not_tensor(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None or any(isinstance(member, Tensor) for member in members(value)):
        return None
    if _holds_nothing(value):  # to upload
        return None
    # An annotation says `list`, and no more: a tensor may be handed in as well.
    is_promised = isinstance(value, Sequence) and value.elements is None and value.any_element == UNKNOWN
    return MEDIUM if is_promised or UNKNOWN in members(value) else HIGH


def _number(value: Value | None, condition: Condition) -> Confidence | None:
    if isinstance(value, Const):
        return HIGH if value.kind in (int, float) else None
    return HIGH if isinstance(value, Host) and value.kind in ("int", "float", "number") else None


def _sequence(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if isinstance(value, Sequence) and value.kind != "arguments" else None


def _not_sequence(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None or isinstance(value, (Sequence, Mapping)):
        return None
    return HIGH if not any(isinstance(member, (Sequence, Mapping, Unknown)) for member in members(value)) else LOW


def _several(value: Value | None, condition: Condition) -> Confidence | None:
    if isinstance(value, Sequence) and value.kind != "arguments":
        return LOW if value.elements is None else HIGH if len(value.elements) > 1 else None
    return None


def _unknown_size(value: Value | None, condition: Condition) -> Confidence | None:
    """How many elements a tensor has is not followed."""
    return LOW if value is not None and any(True for _ in tensors_in(value)) else None


def _unfollowed(value: Value | None, condition: Condition) -> Confidence | None:
    """What few tensors are, and nothing tells."""
    return None


def _bool(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else list(tensors_in(value))
    if any(tensor.is_mask for tensor in found):
        return HIGH
    return LOW if any(tensor.dtype is None for tensor in found) else None


def _not_bool(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else [tensor for tensor in tensors_in(value) if not tensor.is_mask]
    if not found:
        return None
    return HIGH if any(tensor.dtype is not None for tensor in found) else MEDIUM  # masks are few


def names_device(value: Value) -> bool:
    """Whether an argument is a device, or a tensor that stands for its device."""
    for member in members(value):
        if isinstance(member, (DeviceName, Tensor)):
            return True
        if isinstance(member, Const) and isinstance(member.value, (str, int)) and not isinstance(member.value, bool):
            return True
        if isinstance(member, External) and "cuda" in member.name.split("."):
            return True
    return False


def _cuda(value: Value | None, condition: Condition) -> Confidence | None:
    if value is None or value == NONE or not names_device(value):
        return None
    place = Place.DEVICE if isinstance(value, External) else place_of_device(value)
    if place is Place.DEVICE:
        return HIGH
    return MEDIUM if place is Place.ANYWHERE else None


def _cpu(value: Value | None, condition: Condition) -> Confidence | None:
    if isinstance(value, External):
        legacy = value.name.startswith("torch.") and value.name.endswith("Tensor") and "cuda" not in value.name
        return HIGH if legacy and value.name != "torch.Tensor" else None
    if isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("torch."):
        return HIGH if value.value.endswith("Tensor") and "cuda" not in value.value else None
    if value is None or value == NONE or not names_device(value):
        return None
    return HIGH if place_of_device(value) is Place.HOST and value != Const("meta") else None


def _pinned(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else list(tensors_in(value))
    return HIGH if found and all(tensor.pinned for tensor in found) else None


def _not_pinned(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else list(tensors_in(value))
    return HIGH if any(not tensor.pinned for tensor in found) else None


def _fresh(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value is not None and any(tensor.fresh for tensor in tensors_in(value)) else None


def _not_fresh(value: Value | None, condition: Condition) -> Confidence | None:
    return HIGH if value is not None and any(not tensor.fresh for tensor in tensors_in(value)) else None


def _not_dtype(value: Value | None, condition: Condition) -> Confidence | None:
    found = [] if value is None else [tensor for tensor in tensors_in(value) if tensor.dtype != condition.value]
    if not found:
        return None
    return HIGH if any(tensor.dtype is not None for tensor in found) else LOW


TESTS: dict[str, Callable[[Value | None, Condition], Confidence | None]] = {
    "absent": _absent, "given": _given, "none": _none, "true": _true, "not-true": _not_true, "false": _false,
    "not-false": _not_false, "equals": _equals, "negative": _negative, "device": _device, "host": _host,
    "tensor": _tensor, "not-tensor": _not_tensor, "number": _number, "sequence": _sequence,
    "not-sequence": _not_sequence, "bool": _bool, "not-bool": _not_bool, "cuda": _cuda, "cpu": _cpu, "pinned": _pinned,
    "not-pinned": _not_pinned, "fresh": _fresh, "not-fresh": _not_fresh, "not-dtype": _not_dtype, "several": _several,
    "many": _unknown_size, "long": _unknown_size, "batched": _unfollowed, "oblong": _unfollowed, "sparse": _unfollowed,
}  # fmt: skip
