"""Python asks a tensor for its truth, or compares elements to find one."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, Tensor, Truth, certainty, device_tensor


def detect(event: Truth) -> Iterator[Hit]:
    tensor = device_tensor(event.value)
    if tensor is None or event.asker == "loop":
        return
    if event.asker != "condition":
        yield Hit(certainty(event.value, tensor))
    elif event.is_bare_name and tensor == Tensor(tensor.place):
        yield Hit(Confidence.LOW)  # a bare name of which nothing else is known is a flag more often than a tensor
    elif event.is_attribute and tensor == Tensor(tensor.place, sure=Confidence.HIGH):
        yield Hit(Confidence.LOW)  # a parameter of many elements has no truth in eager runs either
    else:
        yield Hit(certainty(event.value, tensor))
