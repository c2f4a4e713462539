"""The host reads a number out of a tensor: to convert it, to find an element of a list, or to pick a graph by it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostRead, KeyRead, certainty, device_tensor


def detect(event: HostRead | KeyRead) -> Iterator[Hit]:
    if isinstance(event, KeyRead):
        said = "`{operation}` picks the graph: every request waits for the device before its replay"
        sure = Confidence.MEDIUM if event.is_promised else Confidence.LOW
        yield Hit(sure, said, "pick graphs by shapes, or by numbers that the host keeps")
        return
    tensor = device_tensor(event.value)
    if tensor is None:
        return
    if event.purpose == "number":
        yield Hit(tensor.sure)
    elif event.purpose == "index":
        yield Hit(certainty(event.value, tensor))
