"""A mask of the device selects items, and its hits are counted on the host; one number is written without that."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, ItemRead, ItemWrite, Place, Tensor, certainty, device_tensor


def detect(event: ItemRead | ItemWrite) -> Iterator[Hit]:
    container = event.container
    if isinstance(container, Tensor) and container.place is Place.HOST:
        return
    for item in event.items:
        mask = device_tensor(item.value)
        if mask is None or not item.is_mask or (isinstance(event, ItemWrite) and item.is_surely_mask):
            continue
        sure = certainty(item.value, mask)
        if mask.dtype is None or not isinstance(container, Tensor):
            sure = min(sure, Confidence.MEDIUM)
        yield Hit(sure)
    if isinstance(event, ItemWrite) and isinstance(container, Tensor) and event.is_masked:
        yield from _written(event, container)


def _written(event: ItemWrite, container: Tensor) -> Iterator[Hit]:
    source = device_tensor(event.stored)
    beside = [index for index in event.through if not index.is_mask]
    if source is not None:
        sure, what = certainty(event.stored, source), "stores a device value through a boolean mask"
    elif beside:
        sure, what = beside[0].sure, "joins a mask and an index"
    else:
        return
    message = f"`{{operation}} = ...` {what}, and the hits of the mask are counted on the host"
    yield Hit(min(sure, container.sure), message)
