"""An index from the host is uploaded: a host tensor, an array, a list of numbers; a number written through one."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Confidence,
    Const,
    Hit,
    Host,
    ItemRead,
    ItemWrite,
    Place,
    Sequence,
    Tensor,
    Value,
    device_tensor,
    host_tensor,
    is_number,
    members,
    tensors_in,
)

_WHOLE = (Host("slice"), NONE, Const(...))


def detect(event: ItemRead | ItemWrite) -> Iterator[Hit]:
    container = event.container
    if not isinstance(container, Tensor) or container.place is Place.HOST:
        return
    lists = ("list", "iterator", "tuple") if len(event.items) > 1 else ("list", "iterator")
    for item in event.items:
        if device_tensor(item.value) is None:
            yield from _uploaded(item.value, lists, len(event.items) == 1)
    if isinstance(event, ItemWrite) and not event.is_masked:
        yield from _written(event, container)


def _uploaded(index: Value, lists: tuple[str, ...], is_alone: bool) -> Iterator[Hit]:
    """What stands for one dimension; a tuple does so inside of another one, which is the index.

    What is made there of one thing that nobody knows may be made of a number, and is read where it lies.
    """
    held = host_tensor(index)
    if held is not None:
        if not held.is_mask and held.ndim != 0:
            may_be_number = is_alone and held.literal and held.ndim is None
            yield Hit(Confidence.LOW if may_be_number else held.sure)
    elif index == Host("array"):
        yield Hit(Confidence.MEDIUM)
    elif any(isinstance(one, Sequence) and one.kind in lists for one in members(index)):
        on_device = any(tensor.place is not Place.HOST for tensor in tensors_in(index))
        if not on_device and not _is_tuple_in_disguise(index):
            yield Hit(Confidence.MEDIUM if _may_hold_tensors(index) else Confidence.HIGH)


def _may_hold_tensors(index: Value) -> bool:
    """A list of tensors stands for a tuple of them, and nobody knows what this one holds."""
    return isinstance(index, Sequence) and UNKNOWN in members(index.any_element)


def _is_tuple_in_disguise(index: Value) -> bool:
    """A list of slices stands for a tuple of them."""
    return isinstance(index, Sequence) and all(one in _WHOLE for one in members(index.any_element))


def _written(event: ItemWrite, container: Tensor) -> Iterator[Hit]:
    """A scalar from the host is uploaded unless it only fills a view."""
    held = host_tensor(event.stored) if device_tensor(event.stored) is None else None
    if not (is_number(event.stored) or (held is not None and held.ndim == 0)):
        return
    through = event.through
    if through:
        sure = min(container.sure, *(index.sure for index in through))
        if len(through) == 1 and through[0].dtype is None:  # it may be a mask: `masked_fill` takes the number along
            sure = min(sure, Confidence.LOW)
        message = "`{operation} = ...` writes a host value through an index, which uploads it"
        yield Hit(sure, message, "use `index_fill_`")
    elif _selects_element(event, container):
        message = "`{operation} = ...` writes one element from the host, which uploads it"
        sure = container.sure if container.ndim is not None else Confidence.MEDIUM
        yield Hit(sure, message, "use `fill_` on the element")


def _selects_element(event: ItemWrite, container: Tensor) -> bool:
    """Whether integers alone pick a single element; without a known rank two of them are taken to."""
    if not all(is_number(item.value) and item.value not in (TRUE, FALSE) for item in event.items):
        return False
    return len(event.items) == container.ndim if container.ndim is not None else len(event.items) >= 2
