"""A callable that `make_graphed_callables` captured in, how to run it once more without its graphs out.

Its inputs, outputs and gradients lie where torch's own function around a graph keeps them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_leaves, tree_structure, tree_unflatten

from graphlint.runtime.compare.ambient import Ambient
from graphlint.runtime.compare.generators import default_sources, random_state, set_random_state
from graphlint.runtime.compare.remembered import GoneError, Recall, remembered
from graphlint.runtime.examine.rerun import Rerun, Roots, Variables
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.trace.frames import local, running

_INPUTS, _COUNT, _OUTPUTS = "static_input_surface", "len_user_args", "static_outputs"
_ARGUMENTS = "user_args"
_GRADIENTS, _GIVEN = "static_grad_inputs", "static_grad_outputs"


@dataclass
class Forward(Rerun):
    """Its forward, as torch runs it: no gradient is recorded.

    `inputs` are those of the last call, and parameters; `states` are those that it found random generators in.
    """

    call: object
    eager: Callable[..., Any]
    ambient: Ambient
    inputs: list[Recall] = field(default_factory=list)
    count: int = 0
    structure: TreeSpec | None = None
    states: list[tuple[Any, Any]] = field(default_factory=list)
    results: dict[str, Recall] = field(default_factory=dict)

    def given(self) -> Variables:
        variables = _replaying(_OUTPUTS)
        self.structure = tree_structure(_arguments())
        self.states = [(source, random_state(source)) for source in default_sources().values()]
        self.inputs, self.count = [remembered(one) for one in variables[_INPUTS]], variables[_COUNT]
        self.results = _named("output", variables[_OUTPUTS])
        return {"args": variables[_INPUTS][: self.count]}

    def roots(self, given: Variables, made: Variables) -> Roots:
        return ("module", self.call), *(given | made).items()

    def run(self, given: Variables) -> Variables:
        return {f"output {number}": one for number, one in enumerate(self.outputs(given["args"]))}

    def outputs(self, tensors: Any) -> list[Any]:
        """What eager gives for the tensors that stand in the arguments."""
        found: list[Any] = tree_leaves(self.eager(*tree_unflatten(tensors, self.structure)))
        return found


@dataclass
class Backward(Rerun):
    """Its backward, for which the forward runs first, and draws what it drew."""

    does_more = True
    forward: Forward
    ambient: Ambient
    results: dict[str, Recall] = field(default_factory=dict)

    def given(self) -> Variables:
        variables = _replaying(_GRADIENTS)
        self.results = _named("gradient", variables[_GRADIENTS])
        return {"inputs": [recall() for recall in self.forward.inputs], "gradients": variables[_GIVEN]}

    def roots(self, given: Variables, made: Variables) -> Roots:
        return self.forward.roots(given, made)

    def run(self, given: Variables) -> Variables:
        inputs: Any = given["inputs"]
        gradients: Any = given["gradients"]
        count = self.forward.count
        args = [one.detach().clone().requires_grad_(one.requires_grad) for one in inputs[:count]]
        leaves = {number: one for number, one in enumerate((*args, *inputs[count:])) if one.requires_grad}
        for source, state in self.forward.states:
            set_random_state(source, state)
        with torch.enable_grad():
            outputs = self.forward.outputs(args)
        pairs = [(one, given) for one, given in zip(outputs, gradients, strict=True) if given is not None]
        roots, grads = zip(*pairs, strict=True)
        found = torch.autograd.grad(roots, list(leaves.values()), grads, allow_unused=True)
        return {f"gradient {number}": one for number, one in zip(leaves, found, strict=True)}


def reruns_of(callables: Sequence[Any], captures: Sequence[Capture]) -> dict[int, Rerun]:
    """By capture: all forwards come first, and the backwards in reverse order, where each has one."""
    ambient = replace(Ambient(), has_grad=False)
    forwards = [Forward(one, _eager(one), ambient) for one in callables]
    backwards = [Backward(one, ambient) for one in reversed(forwards)]
    known: list[Rerun] = [*forwards, *backwards] if len(captures) == 2 * len(forwards) else [*forwards]
    return {id(capture): rerun for capture, rerun in zip(captures, known, strict=False)}


def _eager(call: Any) -> Callable[..., Any]:
    """The callable as it was before; a module has the graphed one as an attribute of its own."""
    is_module = isinstance(call, torch.nn.Module)
    return functools.partial(type(call).forward, call) if is_module else call


def _replaying(name: str) -> dict[str, Any]:
    """The variables of torch's function around a graph, one of which has this name."""
    for frame in running():
        if frame.f_code.co_name in ("forward", "backward") and name in frame.f_code.co_freevars:
            return {one: local(frame, one) for one in frame.f_code.co_freevars}
    raise GoneError


def _arguments() -> object:
    """Those of the callable that is called; torch's own function takes only the tensors in them."""
    calls = (frame for frame in running() if frame.f_code.co_name == "functionalized")
    if (frame := next(calls, None)) is None:
        raise GoneError
    return local(frame, _ARGUMENTS)


def _named(kind: str, tensors: Any) -> dict[str, Recall]:
    return {f"{kind} {number}": remembered(one) for number, one in enumerate(tensors) if one is not None}
