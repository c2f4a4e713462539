"""What is observed: a statement and its operands in, trials with fresh operands that run it out."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

import numpy as np
import torch

Namespace = dict[str, object]
RESULT = "_result"
SEED = 0


def seed() -> None:
    """Every draw begins anew."""
    torch.default_generator.manual_seed(SEED)  # the devices of `torch.manual_seed` that are not there take long
    torch.cuda.manual_seed_all(SEED)
    np.random.seed(SEED)
    random.seed(SEED)


class Program:
    """A statement, compiled: running it gives the value of its last expression."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.copy_location(
                ast.Assign(targets=[ast.Name(RESULT, ast.Store())], value=last.value), last
            )
            ast.fix_missing_locations(tree)
        self.code: CodeType = compile(tree, "<statement>", "exec")

    def run(self, namespace: Namespace) -> object:
        exec(self.code, namespace)
        return namespace.pop(RESULT, None)


@dataclass(frozen=True)
class Trial:
    """One run to come. With `leaves`, their gradients are part of it."""

    program: Program
    namespace: Namespace
    leaves: tuple[torch.Tensor, ...] = ()
    process: Callable[[object], object] = lambda outcome: outcome

    def run(self, forward_is_done: Callable[[], None] = lambda: None) -> object:
        outcome = self.program.run(self.namespace)
        if not self.leaves:
            return outcome
        outputs = [one for one in tensors_in(self.process(outcome)) if one.requires_grad]
        loss = sum((one.abs() if one.is_complex() else one).sum() for one in outputs)
        if not isinstance(loss, torch.Tensor):
            raise ValueError("no output has a gradient")
        forward_is_done()
        return torch.autograd.grad(loss, self.leaves, allow_unused=True)

    def tensors(self, outcome: object) -> list[torch.Tensor]:
        """What a replay has to reproduce: the outcome, and the operands, which may have been written."""
        return [*tensors_in(outcome), *tensors_in(self.namespace)]


@dataclass(frozen=True)
class Sample:
    """Something to observe; `otherwise` does the same by other means, if the statement does not run."""

    key: str
    facts: dict[str, object]
    make: Callable[[], Trial]
    otherwise: Sample | None = None


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
        if value.is_leaf and value.grad is not None:
            yield value.grad
    elif isinstance(value, torch.nn.Module):
        for one in [*value.parameters(), *value.buffers()]:
            yield from tensors_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def fresh(value: object) -> object:
    """A copy of a tensor with its own memory and the same strides; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if value.layout is not torch.strided or value.is_conj() or value.is_neg() or value.is_nested:
        return value.clone()
    storage = value.untyped_storage().clone()
    copied = torch.empty(0, dtype=value.dtype, device=value.device)
    return copied.set_(storage, value.storage_offset(), value.shape, value.stride())
