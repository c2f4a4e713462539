"""Results of `make_graphed_callables` in; calls of them that it does not provide for out."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from graphlint.runtime.trace.capture import Capture, Tell, Trouble
from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.trace.places import Stack, caller_stack, waiting_frame


@dataclass(slots=True)
class Graphed:
    """One of the callables; `calls` are the first and the last of those without a backward yet."""

    call: object
    forward: Capture
    backward: Capture | None
    calls: list[Stack] = field(default_factory=list)
    overwritten: Stack = ()  # the call that came before the backward of an earlier one
    reused: Stack = ()  # the backward that ran first, and out of order

    def has_gradients_of_graph(self) -> bool:
        """Whether the backward is about to write over gradients that it is to be added to."""
        if self.backward is None or not isinstance(self.call, torch.nn.Module):
            return False
        gradients = (one.grad for one in self.call.parameters() if one.grad is not None)
        return any(storage_key(gradient) in self.backward.internals for gradient in gradients)


class NotedForward:
    """The forward of a graphed module, which runs eagerly unheard in another mode than it was graphed in.

    A copy of the module has the very same forward, and so the graph and the parameters of the first.
    """

    def __init__(self, module: torch.nn.Module, capture: Capture, tell: Tell) -> None:
        functools.update_wrapper(self, module.forward)
        self._forward, self._module, self._is_training = module.forward, module, module.training
        self._capture, self._tell = capture, tell
        self._copied: Stack = ()

    def __deepcopy__(self, _memo: object) -> NotedForward:
        self._copied = caller_stack()
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        called = local(sys._getframe(1), "self")
        if called is not self._module and isinstance(called, torch.nn.Module) and vars(called).get("forward") is self:
            said = "the copy runs the graph of the module that was graphed, with its parameters"
            self._tell(self._capture, Trouble("graphed-callable-contract", self._copied or caller_stack(), said))
        if self._module.training is not self._is_training:
            self._capture.runs_eagerly = True
            modes = ("training", "evaluation") if self._is_training else ("evaluation", "training")
            said = f"it was graphed for {modes[0]}, and runs in {modes[1]}"
            self._tell(self._capture, Trouble("silent-eager", caller_stack(), said))
        return self._forward(*args, **kwargs)


class GraphedCallables:
    """One call of `make_graphed_callables`, which captured all forwards, then all backwards in reverse order.

    The callables share one pool, and each has one place for what it saves for its backward, so every backward has to
    come before the next call of the same callable, and the backwards in the order in which they were captured.
    """

    def __init__(self, callables: Sequence[object], captures: Sequence[Capture], tell: Tell) -> None:
        forwards, rest = captures[: len(callables)], captures[len(callables) :]
        # Where some need no gradient, which backward belongs to which forward is not known.
        backwards: Sequence[Capture | None] = rest[::-1] if len(rest) == len(forwards) else [None] * len(forwards)
        self._tell = tell
        self._graphed = [Graphed(*one) for one in zip(callables, forwards, backwards, strict=True)]
        for one in self._graphed:
            if isinstance(one.call, torch.nn.Module):
                one.call.forward = NotedForward(one.call, one.forward, tell)

    def replays(self, capture: Capture) -> Iterator[Trouble]:
        """A graph is about to be replayed, which may be one of these."""
        for number, one in enumerate(self._graphed):
            if capture is one.forward:
                one.reused = ()
                one.calls.append(caller_stack())
                del one.calls[1:-1]
                if (node := _node_that_drops_a_gradient()) is not None:
                    node.register_prehook(functools.partial(self._drops_gradient, capture))
            elif capture is one.backward:
                yield from _runs_backward(one, self._graphed[number + 1 :])

    def _drops_gradient(self, capture: Capture, _gradients: object) -> None:
        said = "an input needs a gradient, and its sample needed none"
        self._tell(capture, Trouble("graphed-callable-contract", capture.stack, said))


def _runs_backward(one: Graphed, graphed_later: Sequence[Graphed]) -> Iterator[Trouble]:
    for other in graphed_later:
        if other.calls:
            other.reused = caller_stack()
    if _is_to_be_differentiated():
        said = "the gradient is to be differentiated again, and the graph has no backward of its backward"
        yield Trouble("graphed-callable-contract", caller_stack(), said)
    if one.overwritten and not one.calls:
        yield Trouble("shared-activations", one.overwritten, "an earlier call had no backward yet")
    elif one.reused:
        yield Trouble("shared-activations", one.reused, "it comes before that of a callable that was graphed later")
    elif one.has_gradients_of_graph():
        said = "the gradients to which it adds are the memory that the graph is about to write"
        yield Trouble("graphed-callable-contract", caller_stack(), said)
    one.overwritten = one.calls[-1] if len(one.calls) > 1 else ()
    one.calls.clear()


def _is_to_be_differentiated() -> bool:
    """Whether the call of autograd that waits for this backward was asked for gradients with a graph of their own."""
    frame = waiting_frame(sys._getframe(1))
    while frame is not None and not frame.f_globals.get("__name__", "").startswith("torch.autograd"):
        frame = frame.f_back
    while frame is not None and "create_graph" not in frame.f_locals:
        frame = frame.f_back
    return frame is not None and bool(frame.f_locals["create_graph"])


def _node_that_drops_a_gradient() -> Any:
    """Of autograd, for torch's function around the graph, which runs, where it is asked for one it has no place for."""
    for outer in running():
        if outer.f_code.co_name == "forward" and "static_input_surface" in outer.f_locals:
            context, static = outer.f_locals.get("ctx"), outer.f_locals["static_input_surface"]
            needed = getattr(context, "needs_input_grad", ())[-len(static) :]  # from 2.15 on, the graphs come first
            is_asked = any(need and not one.requires_grad for need, one in zip(needed, static, strict=False))
            return context if is_asked else None
    return None
