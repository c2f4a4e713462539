"""Results of `make_graphed_callables` in; calls of them that it does not provide for out."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from graphlint.runtime.cuda.capture import Capture, Trouble
from graphlint.runtime.cuda.operators import storage_key
from graphlint.runtime.lines import running
from graphlint.runtime.places import Stack, caller_stack, waiting_stack

Tell = Callable[[Capture, Trouble], None]


class GraphedCallables:
    """One call of `make_graphed_callables`, which captured all forwards, then all backwards in reverse order.

    The callables share one pool, and each has one place for what it saves for its backward, so every backward has to
    come before the next call of the same callable, and the backwards in the order in which they were captured.
    """

    def __init__(self, callables: Sequence[object], captures: Sequence[Capture], tell: Tell) -> None:
        forwards, backwards = captures[: len(callables)], captures[len(callables) :]
        self._forwards = forwards
        self._backwards = backwards[::-1] if len(backwards) == len(forwards) else ()  # some may need no gradient
        self._callables = callables
        self._tell = tell
        self._calls: list[list[Stack]] = [[] for _ in self._forwards]  # of each, those without a backward yet
        self._overwritten: list[Stack] = [() for _ in self._forwards]
        self._reused: list[Stack] = [() for _ in self._forwards]  # the backward that ran first, and out of order

    def watch_modes(self) -> None:
        """A graphed module runs eagerly in another mode than it was graphed in, and says nothing."""
        for one, capture in zip(self._callables, self._forwards, strict=True):
            if isinstance(one, torch.nn.Module):
                one.forward = self._noting_mode(one, capture)

    def _noting_mode(self, module: torch.nn.Module, capture: Capture) -> Callable[..., Any]:
        forward, is_training = module.forward, module.training

        @functools.wraps(forward)
        def noted(*args: Any, **kwargs: Any) -> Any:
            if module.training is not is_training:
                capture.runs_eagerly = True
                modes = ("training", "evaluation") if is_training else ("evaluation", "training")
                said = f"it was graphed for {modes[0]}, and runs in {modes[1]}"
                self._tell(capture, Trouble("silent-eager", caller_stack(), said))
            return forward(*args, **kwargs)

        return noted

    def replays(self, capture: Capture) -> Iterator[Trouble]:
        for number, (forward, backward) in enumerate(itertools.zip_longest(self._forwards, self._backwards)):
            if capture is forward:
                self._reused[number] = ()
                self._calls[number].append(caller_stack())
                del self._calls[number][2:-1]
                if _needs_a_gradient_that_has_no_place():
                    said = "an input needs a gradient, and its sample needed none"
                    yield Trouble("graphed-callable-contract", capture.stack, said)
            elif capture is backward:
                yield from self._runs_backward(number)

    def _runs_backward(self, number: int) -> Iterator[Trouble]:
        calls = self._calls[number]
        overwritten = self._overwritten[number] if not calls else ()
        for later in range(number + 1, len(self._calls)):
            if self._calls[later]:
                self._reused[later] = waiting_stack(sys._getframe())
        if overwritten:
            yield Trouble("shared-activations", overwritten, "an earlier call had no backward yet")
        elif self._reused[number]:
            said = "it comes before that of a callable that was graphed later"
            yield Trouble("shared-activations", self._reused[number], said)
        elif self._has_gradients_of_graph(number):
            said = "the gradients to which it adds are the memory that the graph is about to write"
            yield Trouble("graphed-callable-contract", waiting_stack(sys._getframe()), said)
        self._overwritten[number] = calls[1] if len(calls) == 2 else calls[-1] if len(calls) > 1 else ()
        calls.clear()

    def _has_gradients_of_graph(self, number: int) -> bool:
        """Whether a backward is about to write over gradients that it is to be added to."""
        module, memory = self._callables[number], self._backwards[number].internals
        parameters = module.parameters() if isinstance(module, torch.nn.Module) else ()
        return any(one.grad is not None and storage_key(one.grad) in memory for one in parameters)


def _needs_a_gradient_that_has_no_place() -> bool:
    """Whether torch's function around the graph, which runs, is asked for a gradient that was not captured."""
    for outer in running():
        if outer.f_code.co_name == "forward" and "static_input_surface" in outer.f_locals:
            context, static = outer.f_locals.get("ctx"), outer.f_locals["static_input_surface"]
            needed = getattr(context, "needs_input_grad", ())
            return any(need and not one.requires_grad for need, one in zip(needed, static, strict=False))
    return False
