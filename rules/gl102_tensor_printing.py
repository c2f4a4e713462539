"""The text of a tensor, or of a container that holds one, has its values in it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Hit, HostRead, Place, device_tensor, tensors_in


def detect(event: HostRead) -> Iterator[Hit]:
    if event.purpose != "text":
        return
    tensor = device_tensor(event.value)
    if tensor is None:
        tensor = next((held for held in tensors_in(event.value) if held.place is Place.DEVICE), None)
    if tensor is not None:
        yield Hit(tensor.sure)
