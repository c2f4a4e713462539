"""Items of tensors: what is told of an index, and which dimensions are left behind it."""

from __future__ import annotations

from graphlint.rule import Confidence, Item, ItemRead, ItemWrite
from graphlint.static.domain.contexts import Frame, Mode
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import last_name, words_in
from graphlint.values import NONE, UNKNOWN, Const, Host, Place, Sequence, Tensor, Unknown, Value, members
from graphlint.values.queries import is_number, placed_by_name

_ELLIPSIS = Const(...)
_SLICE = Host("slice")
_ANSWER = Host("bool")


def load(evaluator: Evaluator, value: Value, node: ir.Subscript, index: Value, frame: Frame) -> Value:
    """`value[index]` of a tensor, or of something that is not known."""
    items = _items(value, node.index, index)
    if frame.in_region:
        evaluator.observe(frame, node, ItemRead(value, _named(items)))
    if isinstance(value, Tensor):
        return _rest(value, items)
    return _of_axes(node, items) if frame.in_region else UNKNOWN


def _of_axes(node: ir.Subscript, items: list[tuple[ir.Expr, Value]]) -> Value:
    """What an index of several axes leaves of something that is not known: hardly anything but a tensor has them."""
    if len(items) < 2 or not any(item in (_SLICE, _ELLIPSIS) or _is_negative(item) for _, item in items):
        return UNKNOWN
    held: Value = Tensor(Place.ANYWHERE, sure=Confidence.MEDIUM)
    for word in words_in(node.value):
        held = placed_by_name(held, word)
    return held


def store(evaluator: Evaluator, value: Value, target: ir.Subscript, index: Value, stored: Value, frame: Frame) -> None:
    """`value[index] = stored`; compilers make a number a part of the kernel that writes it."""
    if frame.in_region:
        stored = UNKNOWN if frame.mode is Mode.SOFT and is_number(stored) else stored
        evaluator.observe(frame, target, ItemWrite(value, _named(_items(value, target.index, index)), stored))


def _is_negative(item: Value) -> bool:
    return isinstance(item, Const) and type(item.value) is int and item.value < 0


def _named(items: list[tuple[ir.Expr, Value]]) -> tuple[Item, ...]:
    """The parts of an index with the last names of their expressions."""
    return tuple(Item(value, last_name(node)) for node, value in items)


def _items(value: Value, node: ir.Expr, index: Value) -> list[tuple[ir.Expr, Value]]:
    """Each part of an index, with its own expression where the index is written as a tuple."""
    if not isinstance(index, Sequence) or index.kind != "tuple" or index.elements is None:
        return [(node, _mask(value, index))]
    if isinstance(node, ir.Display) and len(node.elements) == len(index.elements):
        return list(zip(node.elements, index.elements, strict=True))
    return [(node, element) for element in index.elements]


def _mask(value: Value, index: Value) -> Value:
    """What a tensor is indexed with: where that answers a question, what was asked about was a tensor as well."""
    is_placed = isinstance(value, Tensor) and value.place is Place.DEVICE
    return Tensor(Place.DEVICE, None, "bool", Confidence.MEDIUM) if is_placed and index == _ANSWER else index


def _rest(value: Tensor, items: list[tuple[ir.Expr, Value]]) -> Value:
    """What is left of a tensor behind an index."""
    ndim = value.ndim
    fresh = value.fresh
    ones = _ones_left(value, [item for _, item in items])
    for _, item in items:
        if isinstance(item, (Unknown, Sequence)):
            ndim = None
        elif item in (_SLICE, _ELLIPSIS):
            continue
        elif item == NONE:
            ndim = None if ndim is None else ndim + 1
        elif is_number(item):
            ndim = None if ndim is None else max(ndim - 1, 0)
        else:
            indices = [m for m in members(item) if isinstance(m, Tensor)]
            rank = indices[0].ndim if len(indices) == 1 and len(items) == 1 else None
            ndim = None if ndim is None or rank is None or indices[0].is_mask else ndim - 1 + rank
            fresh = True
    ones = ones if ndim is not None else ()
    return Tensor(value.place, ndim, value.dtype, value.sure, value.pinned, fresh, value.literal, ones)


def _ones_left(value: Tensor, items: list[Value]) -> tuple[int, ...]:
    """The dimensions of one element behind an index of slices, numbers and new dimensions."""
    ones: list[int] = []
    at = taken = 0
    for item in items:
        if item == _SLICE:
            ones += [at] if taken in value.ones else []
        elif item == NONE:
            ones.append(at)
        elif not is_number(item):
            return ()
        at += item in (_SLICE, NONE)
        taken += item != NONE
    return (*ones, *(one - taken + at for one in value.ones if one >= taken))
