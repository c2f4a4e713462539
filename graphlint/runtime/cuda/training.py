"""Captured training steps in; gradients and optimizer state that replay does not treat as eager does out."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from graphlint.runtime.cuda.audit import Trouble
from graphlint.runtime.cuda.capture import Capture
from graphlint.runtime.cuda.operators import storage_key, tensors
from graphlint.runtime.places import Stack, caller_stack

_ADDS = ("aten::add_", "aten::add", "aten::_foreach_add_")  # how autograd accumulates into a gradient that exists


@dataclass(frozen=True, slots=True)
class Gradient:
    """A parameter and the memory of the gradient that the graph writes; `grows` where replay adds to what is there."""

    parameter: weakref.ref[torch.Tensor]
    memory: int
    grows: bool


class Training:
    """Follows the gradients of captured steps, and the order in which graphed callables run."""

    def __init__(self) -> None:
        self._gradients: dict[int, list[Gradient]] = {}
        self._groups: list[Callables] = []

    def captured(self, capture: Capture) -> Iterator[Trouble]:
        """A step was captured: state that it made itself is made anew by each replay."""
        for stepped in capture.optimizers:
            states = stepped.optimizer.state.values()
            if any(storage_key(one) in capture.internals for state in states for one in tensors(state)):
                yield Trouble(
                    "state-born-in-region", stepped.stack, "the optimizer's state lies in the memory of the graph"
                )
        found = []
        for leaf in capture.leaves.values():
            key = storage_key(leaf.grad) if leaf.grad is not None else 0
            external = capture.externals.get(key)
            if key in capture.internals or (external is not None and external.is_written):
                grows = external is not None and external.written_by in _ADDS
                found.append(Gradient(weakref.ref(leaf), key, grows))
        capture.leaves.clear()
        self._gradients[id(capture)] = found

    def replays(self, capture: Capture, touched: set[int]) -> Iterator[Trouble]:
        """A step is about to be replayed; `touched` is memory that was written outside since the capture."""
        for gradient in self._gradients.get(id(capture), ()):
            parameter = gradient.parameter()
            if parameter is None or not capture.backward:
                continue
            if parameter.grad is None or storage_key(parameter.grad) != gradient.memory:
                yield Trouble("lost-gradient", capture.backward, "`.grad` is not what the graph writes")
            elif gradient.grows and gradient.memory not in touched:
                yield Trouble("accumulated-gradient", capture.backward, "nothing sets it to zero between replays")
        for group in self._groups:
            yield from group.replays(capture)

    def graphed(self, captures: list[Capture]) -> None:
        """These captures belong to one call of `make_graphed_callables`: forwards, then backwards in reverse order."""
        half = len(captures) // 2
        if half and not len(captures) % 2:
            self._groups.append(Callables(captures[:half], captures[: -half - 1 : -1]))


class Callables:
    """Graphed callables share their activations with the next call of the same one, so a backward comes in between."""

    def __init__(self, forwards: list[Capture], backwards: list[Capture]) -> None:
        self._forwards = forwards
        self._backwards = backwards
        self._calls: list[list[Stack]] = [[] for _ in forwards]
        self._overwritten: list[Stack] = [() for _ in forwards]

    def replays(self, capture: Capture) -> Iterator[Trouble]:
        for number, (forward, backward) in enumerate(zip(self._forwards, self._backwards, strict=True)):
            if capture is forward:
                self._calls[number].append(caller_stack())
            elif capture is backward:
                calls = self._calls[number]
                if self._overwritten[number] and not calls:
                    yield Trouble(
                        "shared-activations", self._overwritten[number], "an earlier call had no backward yet"
                    )
                self._overwritten[number] = calls[1] if len(calls) == 2 else calls[-1] if len(calls) > 1 else ()
                calls.clear()
