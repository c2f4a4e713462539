"""A bounded cache returns a tensor on the device: once it is dropped, a graph still reads its address."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import NONE, CachedCall, Confidence, Const, Hit, Place, tensors_in


def detect(event: CachedCall) -> Iterator[Hit]:
    held = next((tensor for tensor in tensors_in(event.result) if tensor.place is Place.DEVICE), None)
    if held is not None and event.maxsize != NONE:
        yield Hit(held.sure if isinstance(event.maxsize, Const) else Confidence.LOW)
