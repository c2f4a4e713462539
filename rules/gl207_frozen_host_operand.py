"""A host scalar tensor meets tensors on the device, and what it holds can change later.

One that is written down in the program, and never written to, is as good as a number.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Hit, Operands, Place, device_tensor, host_tensor


def detect(event: Operands) -> Iterator[Hit]:
    tensors = (device_tensor(value) for value in event.values)
    device = next((tensor for tensor in tensors if tensor is not None and tensor.place is Place.DEVICE), None)
    if device is None:
        return
    for position, value in enumerate(event.values):
        held = host_tensor(value)
        if held is None or held.ndim != 0 or held.fresh or device_tensor(value) is not None:
            continue
        if not held.literal or event.is_written_to(position):
            yield Hit(min(held.sure, device.sure))
            return
