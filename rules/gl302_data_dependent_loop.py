"""A tensor decides how often a loop runs: as its condition, or as the end of its range."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, HostRead, Report, Tensor, Truth, certainty, device_tensor


def detect(event: Truth | HostRead) -> Iterator[Report]:
    tensor = device_tensor(event.value)
    match event:
        case _ if tensor is None:
            return
        case HostRead(purpose="count"):
            yield Report(tensor.sure)
        case Truth(asker="loop", is_bare_name=True) if tensor == Tensor(tensor.place):
            yield Report(Confidence.LOW)  # a flag more often than a tensor
        case Truth(asker="loop"):
            yield Report(certainty(event.value, tensor))
