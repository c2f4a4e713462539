"""What no operation is named for: an item of a host tensor, activations saved on the host, a module moved there."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, ItemWrite, Made, ModuleMove, Place, Tensor, device_tensor

SAVES_ON_HOST = "torch.autograd.graph.save_on_cpu"


def detect(event: ItemWrite | Made | ModuleMove) -> Iterator[Hit]:
    match event:
        case ItemWrite(Tensor(place=Place.HOST, sure=sure), _, stored):
            source = device_tensor(stored)
            if source is not None:
                yield Hit(min(sure, source.sure))
        case Made(given=given, within=within) if SAVES_ON_HOST in within:
            if any(device_tensor(value) is not None for value in given):
                yield Hit(Confidence.MEDIUM)
        case ModuleMove(held=Place.DEVICE, target=Place.HOST):
            yield Hit(Confidence.MEDIUM)
