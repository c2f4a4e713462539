"""The driver of a real device in, the answers that a watch asks for out."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

import torch

from graphlint.runtime.device.backend import Heard, TellLeftOut
from graphlint.runtime.device.cuda.cupti import listening
from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.memory import poison
from graphlint.runtime.device.cuda.nodes import walk
from graphlint.runtime.device.cuda.partitions import telling
from graphlint.runtime.trace.nodes import Node

UNSEEN = (
    "not seen without `cuda-bindings`, which is not installed: what the nodes of a graph point to; "
    "so freed pinned memory is not found, and freed memory of the device counts as used by all that it was given to"
)


class CudaDriver(Driver):
    """A `Backend` that takes real captures."""

    is_real = True
    has_numbers = True

    @property
    def unseen(self) -> str:
        return "" if self.binding is not None else UNSEEN

    @property
    def guessed(self) -> Collection[str]:
        return ()

    def nodes(self, graph: int) -> tuple[Node, ...]:
        return walk(self, graph)

    def launches(self, heard: Heard) -> contextlib.AbstractContextManager[None]:
        return listening(heard)

    def partitions(self, left_out: TellLeftOut) -> contextlib.AbstractContextManager[None]:
        return telling(left_out)

    def poison(self) -> None:
        poison(self, torch.cuda.current_device())

    def modes(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()
