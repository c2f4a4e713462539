"""Items of tensors: which indices are read on the host, which are uploaded, and what rank is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphlint.finding import Confidence
from graphlint.static.domain.contexts import Frame
from graphlint.static.syntax import ir
from graphlint.values import NONE, UNKNOWN, Const, Host, Place, Sequence, Tensor, Unknown, Value, members
from graphlint.values.queries import device_tensor, host_tensor, is_number, tensors_in

if TYPE_CHECKING:
    from graphlint.static.models.tensors import Tensors

_ELLIPSIS = Const(...)
_SLICE = Host("slice")


def load(tensors: Tensors, value: Value, node: ir.Subscript, index: Value, frame: Frame) -> Value:
    """`value[index]` of a tensor, or of something that is not known."""
    items = _items(node.index, index)
    known = isinstance(value, Tensor)
    if isinstance(value, Tensor) and value.place is Place.HOST:
        return _rest(value, items)
    for item_node, item in items:
        _check_index(tensors, item_node, item, node, frame, known)
    return _rest(value, items) if isinstance(value, Tensor) else UNKNOWN


def store(tensors: Tensors, value: Value, target: ir.Subscript, index: Value, stored: Value, frame: Frame) -> None:
    """`value[index] = stored`."""
    source = device_tensor(stored)
    if isinstance(value, Tensor) and value.place is Place.HOST:
        if source is not None:
            tensors.evaluator.event(frame, target, "device-to-host-copy", min(value.sure, source.sure))
        return
    items = _items(target.index, index)
    known = isinstance(value, Tensor)
    masked = any(_is_device_mask(item) for _, item in items)
    for item_node, item in items:
        if masked and _is_device_mask(item):
            continue
        _check_index(tensors, item_node, item, target, frame, known)
    if not isinstance(value, Tensor):
        return
    beside = [found for _, item in items if (found := _through(item)) is not None and not found.is_mask]
    if masked and (source is not None or beside):
        sure = min(tensors.sureness(stored, source) if source is not None else beside[0].sure, value.sure)
        what = "stores a device value through a boolean mask" if source is not None else "joins a mask and an index"
        message = f"`{frame.source(target)} = ...` {what}, and the hits of the mask are counted on the host"
        tensors.evaluator.event(frame, target, "boolean-mask-index", sure, message)
    elif not masked:
        _check_stored(tensors, value, items, target, stored, frame)


def _check_stored(
    tensors: Tensors,
    value: Tensor,
    items: list[tuple[ir.Expr, Value]],
    target: ir.Subscript,
    stored: Value,
    frame: Frame,
) -> None:
    """A value from the host: an array is copied, and a scalar is uploaded unless it only fills a view."""
    held = host_tensor(stored) if device_tensor(stored) is None else None
    through = [found for _, item in items if (found := _through(item)) is not None]
    if held is not None and held.ndim != 0:
        tensors.evaluator.event(frame, target, "host-to-device-copy", min(held.sure, value.sure))
    elif through and (held is not None or is_number(stored)):
        sure = min(value.sure, *(found.sure for found in through))
        if any(found.dtype is None for found in through):  # it may be a mask, and `masked_fill` takes the number along
            sure = min(sure, Confidence.LOW)
        message = f"`{frame.source(target)} = ...` writes a host value through an index, which uploads it"
        tensors.evaluator.event(frame, target, "host-index", sure, message, "use `index_fill_`")
    elif (held is not None or is_number(stored)) and _selects_element(value, items):
        message = f"`{frame.source(target)} = ...` writes one element from the host, which uploads it"
        sure = value.sure if value.ndim is not None else Confidence.MEDIUM
        tensors.evaluator.event(frame, target, "host-index", sure, message, "use `fill_` on the element")


def _through(item: Value) -> Tensor | None:
    """The tensor of positions, or the mask, that a part of an index is."""
    found = device_tensor(item) or host_tensor(item)
    return found if found is not None and found.ndim != 0 else None


def _selects_element(value: Tensor, items: list[tuple[ir.Expr, Value]]) -> bool:
    """Whether integers alone pick a single element; without a known rank two of them are taken to."""
    if not all(is_number(item) and item not in (Const(True), Const(False)) for _, item in items):
        return False
    return len(items) == value.ndim if value.ndim is not None else len(items) >= 2


def _items(node: ir.Expr, index: Value) -> list[tuple[ir.Expr, Value]]:
    """Each part of an index, with its own expression where the index is written as a tuple."""
    if not isinstance(index, Sequence) or index.kind != "tuple" or index.elements is None:
        return [(node, index)]
    if isinstance(node, ir.Display) and len(node.elements) == len(index.elements):
        return list(zip(node.elements, index.elements, strict=True))
    return [(node, element) for element in index.elements]


def _check_index(tensors: Tensors, node: ir.Expr, item: Value, whole: ir.Subscript, frame: Frame, known: bool) -> None:
    evaluator = tensors.evaluator
    found = device_tensor(item)
    if found is not None:
        sure = tensors.sureness(item, found)
        if found.is_mask or (found.dtype is None and _looks_like_mask(node)):
            if found.dtype is None:
                sure = min(sure, Confidence.MEDIUM)
            evaluator.event(frame, whole, "boolean-mask-index", sure if known else min(sure, Confidence.MEDIUM))
        elif found.ndim == 0:
            evaluator.event(frame, whole, "tensor-as-size", sure if known else min(sure, Confidence.MEDIUM))
        return
    if not known:
        return
    held = host_tensor(item)
    if held is not None:
        if not held.is_mask and held.ndim != 0:
            evaluator.event(frame, whole, "host-index", held.sure)
    elif item == Host("array"):
        evaluator.event(frame, whole, "host-index", Confidence.MEDIUM)
    elif any(isinstance(m, Sequence) and m.kind in ("list", "iterator") for m in members(item)):
        if any(t.place is not Place.HOST for t in tensors_in(item)):
            evaluator.event(frame, whole, "tensor-as-size", Confidence.HIGH)
        elif not _is_tuple_in_disguise(item):
            evaluator.event(frame, whole, "host-index", Confidence.HIGH)


def _is_tuple_in_disguise(item: Value) -> bool:
    """A list of slices stands for a tuple of them."""
    if not isinstance(item, Sequence):
        return False
    return all(m in (_SLICE, NONE, _ELLIPSIS) for m in members(item.any_element))


def _is_device_mask(item: Value) -> bool:
    return any(isinstance(m, Tensor) and m.is_mask and m.place is not Place.HOST for m in members(item))


def _looks_like_mask(node: ir.Expr) -> bool:
    name = node.id if isinstance(node, ir.Name) else node.attr if isinstance(node, ir.Attribute) else ""
    return name.endswith("mask")


def _rest(value: Tensor, items: list[tuple[ir.Expr, Value]]) -> Value:
    """What is left of a tensor behind an index."""
    ndim = value.ndim
    fresh = value.fresh
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
    return Tensor(value.place, ndim, value.dtype, value.sure, value.pinned, fresh, value.literal)
