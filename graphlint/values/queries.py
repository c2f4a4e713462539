"""Questions to values: the tensors in them, their truth, the place that a device names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from graphlint.finding import Confidence
from graphlint.values import (
    NONE,
    Const,
    DeviceName,
    External,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    join,
    members,
    union,
)

_ON_HOST = re.compile(r"\w_(cpu|host)(_|$)")


def without(value: Value, unwanted: Value) -> Value:
    """The value with one alternative ruled out; the value itself if it has no other."""
    if isinstance(value, Union) and unwanted in value.members:
        return union(member for member in value.members if member != unwanted)
    return value


def tensors_in(value: Value) -> Iterator[Tensor]:
    """The tensors that a value can be, or that a container holds."""
    pending, seen = [value], set()
    while pending:
        one = pending.pop()
        if isinstance(one, Tensor):
            yield one
        elif isinstance(one, (Union, Sequence, Mapping)) and id(one) not in seen:
            seen.add(id(one))
            pending += reversed(parts_of(one))


def parts_of(value: Value) -> tuple[Value, ...]:
    """What a value may be, or holds, if it is one of several or a container."""
    if isinstance(value, Mapping):
        return (value.any_value,)
    if isinstance(value, Union):
        return value.members
    if isinstance(value, Sequence):
        return (value.element,) if value.elements is None else value.elements
    return ()


def device_tensor(value: Value) -> Tensor | None:
    """The tensor on the device, or anywhere, that a value can be."""
    best = None
    for member in members(value):
        if (
            isinstance(member, Tensor)
            and member.place is not Place.HOST
            and (best is None or member.place is Place.DEVICE)
        ):
            best = member
    return best


def host_tensor(value: Value) -> Tensor | None:
    """The host tensor that a value can be."""
    for member in members(value):
        if isinstance(member, Tensor) and member.place is Place.HOST:
            return member
    return None


def fresh_tensor(value: Value) -> Tensor | None:
    """The tensor on the device, allocated in the region, that a value can be or that a container holds."""
    return next((t for t in tensors_in(value) if t.fresh and t.place is Place.DEVICE), None)


def placed_by_name(value: Value, name: str) -> Value:
    """Tensors of unknown place under a name that says it, as `seq_lens_cpu` does: those are on the host."""
    if not _ON_HOST.search(name):
        return value
    return union(
        replace(m, place=Place.HOST) if isinstance(m, Tensor) and m.place is Place.ANYWHERE else m
        for m in members(value)
    )


def is_number(value: Value) -> bool:
    """Whether everything that a value can be is a Python number or boolean."""
    return all(
        (isinstance(m, Const) and isinstance(m.value, (int, float)))
        or (isinstance(m, Host) and m.kind in ("int", "float", "bool", "number"))
        for m in members(value)
    )


def may_lie_anywhere(found: Iterable[Value]) -> bool:
    """Whether tensors come from so many places that nobody knows all of them: on the host is one guess of several."""
    places = {value.place for value in found if isinstance(value, Tensor)}
    return {Place.DEVICE, Place.ANYWHERE} <= places


def with_guesses(value: Value) -> Iterator[Value]:
    """What a value may be, less sure of the host where that is a guess."""
    is_guess = may_lie_anywhere(members(value))
    for member in members(value):
        if is_guess and isinstance(member, Tensor) and member.place is Place.HOST:
            yield replace(member, sure=Confidence.LOW)
        else:
            yield member


def is_doubtful(value: Value) -> bool:
    """Whether a value that can be a tensor on the device can be something of the host as well; None is no doubt."""
    return any(
        m.place is Place.HOST if isinstance(m, Tensor) else not isinstance(m, Unknown) and m != NONE
        for m in members(value)
    )


def certainty(value: Value, tensor: Tensor) -> Confidence:
    """How sure it is that a value is that tensor: less so if it can be a host value."""
    return Confidence.LOW if is_doubtful(value) else tensor.sure


def is_plain(value: Value) -> bool:
    """Whether a value can only be something of the host that no tensor is put in the place of: a number, a dtype."""
    return all(isinstance(m, (Const, DeviceName, External, Host)) and m != NONE for m in members(value))


def perhaps(value: Value, given: Value) -> Value:
    """What one of several places holds, after something was put in one of them: a tensor takes no number's place."""
    return union((value, *(m for m in members(given) if is_plain(m)))) if is_plain(value) else join(value, given)


def doubted(value: Value) -> Value:
    """One of several things, of which nobody knows which: a tensor is hardly meant where others are among them."""
    if not any(isinstance(m, Unknown) or is_plain(m) for m in members(value)):
        return value
    return union(replace(m, sure=Confidence.LOW) if isinstance(m, Tensor) else m for m in members(value))


def unsure(value: Value) -> Value:
    """A value of which something says that it is hardly a tensor, where nothing makes sure that it is one."""
    return union(
        replace(m, sure=Confidence.LOW) if isinstance(m, Tensor) and m.sure < Confidence.HIGH else m
        for m in members(value)
    )


def truth(value: Value) -> bool | None:
    """The truth of a value if it is the same for everything it can be."""
    answers = {_member_truth(member) for member in members(value)}
    return answers.pop() if len(answers) == 1 else None


def _member_truth(value: Value) -> bool | None:
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sequence) and value.elements is not None and value.kind in ("list", "tuple", "set"):
        return bool(value.elements)
    if isinstance(value, Sequence) and value.prefix:
        return True
    return True if value.is_true else None


def place_of_device(value: Value | None) -> Place | None:
    """The place that a `device` argument names; None if it is absent or None."""
    if value is None or value == NONE:
        return None
    places = {_member_place(member) for member in members(value) if member != NONE}
    return places.pop() if len(places) == 1 else Place.ANYWHERE


def _member_place(value: Value) -> Place:
    match value:
        case DeviceName() | Tensor():
            return value.place
        case Host(kind="int") | Const(value=int()):
            return Place.DEVICE
        case Const(value=str(name)):
            return Place.HOST if name.partition(":")[0] in ("cpu", "meta") else Place.DEVICE
    return Place.ANYWHERE
