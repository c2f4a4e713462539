"""What no operation is named for: a host tensor stored into one on the device, a new module moved there."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, ItemWrite, ModuleMove, Place, Tensor, device_tensor, host_tensor


def detect(event: ItemWrite | ModuleMove) -> Iterator[Hit]:
    match event:
        case ItemWrite(Tensor(place=Place.DEVICE | Place.ANYWHERE, sure=sure), stored=stored) if not event.is_masked:
            held = host_tensor(stored) if device_tensor(stored) is None else None
            if held is not None and held.ndim != 0:
                yield Hit(min(held.sure, sure))
        case ModuleMove(held=None, target=Place.DEVICE, is_new=True):
            yield Hit(Confidence.MEDIUM)
