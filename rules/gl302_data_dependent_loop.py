"""A tensor decides how often a loop runs: as its condition, or as the end of its range."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostRead, Tensor, Truth, certainty, device_tensor


def detect(event: Truth | HostRead) -> Iterator[Hit]:
    tensor = device_tensor(event.value)
    match event:
        case _ if tensor is None:
            return
        case HostRead(purpose="count"):
            yield Hit(tensor.sure)
        case Truth(asker="loop", is_bare_name=True) if tensor == Tensor(tensor.place):
            yield Hit(Confidence.LOW)  # a flag more often than a tensor
        case Truth(asker="loop"):
            yield Hit(certainty(event.value, tensor))
