"""Captured training steps in; gradients and optimizer state that replay does not treat as eager does out."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass

import torch

from graphlint.runtime.trace.capture import Capture, Trouble
from graphlint.runtime.trace.operators import storage_key, tensors
from graphlint.runtime.trace.optimizers import numbers_of_state


@dataclass(frozen=True, slots=True)
class Gradient:
    """A parameter and the memory of the gradient that the graph writes; `grows` where replay adds to what is there."""

    parameter: weakref.ref[torch.Tensor]
    memory: int
    grows: bool


class Training:
    """Follows the gradients and the optimizers of captured steps; operators `accumulating` gradients add to them.

    `is_zero` tells whether a tensor is, as far as its numbers are known.
    """

    def __init__(self, accumulating: Container[str | None], is_zero: Callable[[torch.Tensor], bool]) -> None:
        self._accumulating = accumulating
        self._is_zero = is_zero
        self._gradients: dict[int, list[Gradient]] = {}
        self._grown: dict[int, Capture] = {}  # gradients to which more than one replay has added
        self._overwritten: set[int] = (
            set()
        )  # memory that a graph writes whatever it held: of gradients, it begins them anew

    def captured(self, capture: Capture) -> Iterator[Trouble]:
        """A step was captured: state that it made itself is made anew by each replay."""
        for stepped in capture.optimizers:
            states = stepped.optimizer.state.values()
            if any(storage_key(one) in capture.internals for state in states for one in tensors(state)):
                yield Trouble(
                    "state-born-in-region", stepped.stack, "the optimizer's state lies in the memory of the graph"
                )
            elif (now := numbers_of_state(stepped.optimizer)) != stepped.numbers and stepped.numbers:
                changed = next(name for name, value in now[0].items() if value != stepped.numbers[0].get(name))
                said = f"`{changed}` is counted on the host, where replay does not count"
                yield Trouble("non-capturable-optimizer", stepped.stack, said)
        found = []
        for leaf in capture.leaves.values():
            key = storage_key(leaf.grad) if leaf.grad is not None else 0
            external = capture.externals.get(key)
            if key in capture.internals or (external is not None and external.is_written):
                grows = external is not None and external.written_by in self._accumulating
                found.append(Gradient(weakref.ref(leaf), key, grows))
        for key, external in capture.externals.items():
            if set(external.writes) - set(external.reads):
                self._overwritten.add(key)
        capture.leaves.clear()
        self._gradients[id(capture)] = found

    def forget(self, capture: Capture) -> None:
        """Let go of the gradients that the graph makes itself."""
        for gradient in self._gradients.get(id(capture), ()):
            parameter = gradient.parameter()
            if parameter is not None and gradient.memory in capture.internals:
                parameter.grad = None

    def replays(self, capture: Capture, touched: set[int]) -> Iterator[Trouble]:
        """A step is about to be replayed; `touched` is memory that was written outside since the capture."""
        for gradient in self._gradients.get(id(capture), ()):
            parameter = gradient.parameter()
            if parameter is None or not capture.backward:
                continue
            if parameter.grad is None or storage_key(parameter.grad) != gradient.memory:
                yield Trouble("lost-gradient", capture.backward, "`.grad` is not what the graph writes")
            elif gradient.grows and capture.replays:
                self._grown[gradient.memory] = capture
            elif gradient.grows and gradient.memory not in touched and not self._is_zero(parameter.grad):
                yield Trouble("accumulated-gradient", capture.backward, "it holds something before the first replay")

    def ended(self, touched: set[int]) -> Iterator[tuple[Capture, Trouble]]:
        """The program has run: gradients to which replays have added, and that nothing has ever begun anew."""
        for memory, capture in self._grown.items():
            if memory not in touched | self._overwritten:
                said = "nothing sets it to zero between replays"
                yield capture, Trouble("accumulated-gradient", capture.backward, said)
