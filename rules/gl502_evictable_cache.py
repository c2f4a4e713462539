"""A bounded cache returns a tensor on the device: once it is dropped, a graph still reads its address."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import NONE, CachedCall, Confidence, Const, Hit, Place, tensors_in

_MANY = 8  # models and hosts have fewer numbers and devices of a kind, as a rule
_PLENTY = 256  # more than there are of what is no size of a request, and than a cache has by default


def detect(event: CachedCall) -> Iterator[Hit]:
    held = next((tensor for tensor in tensors_in(event.result) if tensor.place is Place.DEVICE), None)
    if held is not None and event.maxsize != NONE:
        size = event.maxsize.value if isinstance(event.maxsize, Const) else None
        enough = _MANY if event.is_settled else _PLENTY
        has_room = not event.varies and isinstance(size, int) and size >= enough
        firm = held.sure if event.varies else min(held.sure, Confidence.MEDIUM)
        yield Hit(Confidence.LOW if size is None or has_room else firm)
