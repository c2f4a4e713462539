"""A tensor stands where the host needs an integer: the bound of a slice, an index of rank 0, a list of indices."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import (
    Confidence,
    Hit,
    Host,
    HostRead,
    ItemRead,
    ItemWrite,
    Place,
    Sequence,
    Tensor,
    Value,
    certainty,
    device_tensor,
    host_tensor,
    members,
    tensors_in,
)


def detect(event: HostRead | ItemRead | ItemWrite) -> Iterator[Hit]:
    if isinstance(event, HostRead):
        tensor = device_tensor(event.value)
        if event.purpose == "bound" and tensor is not None:
            yield Hit(certainty(event.value, tensor))
        return
    is_tensor = isinstance(event.container, Tensor)
    host = event.container if isinstance(event.container, Tensor) and event.container.place is Place.HOST else None
    for item in event.items:
        tensor = device_tensor(item.value)
        if tensor is None:
            if is_tensor and host is None and _is_list_of_tensors(item.value):
                yield Hit(Confidence.HIGH)
        elif item.is_mask and not (isinstance(event, ItemWrite) and item.is_surely_mask and tensor.ndim == 0):
            continue  # the elements of a mask are counted; the only one of rank 0 is read as an index would be
        elif host is not None and tensor.ndim is None:
            yield Hit(Confidence.LOW)  # any other rank raises in eager as well, if it is not on the device by then
        elif tensor.ndim == 0:
            sure = certainty(item.value, tensor)
            yield Hit(sure if is_tensor else min(sure, Confidence.MEDIUM))


def _is_list_of_tensors(index: Value) -> bool:
    """Whether a list holds tensors of the device, which the host reads one by one."""
    if host_tensor(index) is not None or index == Host("array"):
        return False
    is_list = any(isinstance(one, Sequence) and one.kind in ("list", "iterator") for one in members(index))
    return is_list and any(tensor.place is not Place.HOST for tensor in tensors_in(index))
