"""The host reads a number out of a tensor: to convert it, or to find an element of a list by it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Hit, HostRead, certainty, device_tensor


def detect(event: HostRead) -> Iterator[Hit]:
    tensor = device_tensor(event.value)
    if tensor is None:
        return
    if event.purpose == "number":
        yield Hit(tensor.sure)
    elif event.purpose == "index":
        yield Hit(certainty(event.value, tensor))
