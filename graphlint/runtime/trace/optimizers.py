"""An optimizer in, the numbers that its step reads and keeps on the host out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import _disable_current_modes

from graphlint.runtime.trace.places import Stack


@dataclass(slots=True)
class Stepped:
    """An optimizer that stepped in the region, with its hyperparameters and the numbers of its state before."""

    optimizer: torch.optim.Optimizer
    stack: Stack
    groups: list[dict[str, object]]
    numbers: list[dict[str, object]]


def hyperparameters(optimizer: torch.optim.Optimizer) -> list[dict[str, object]]:
    """The numbers of the parameter groups that a step reads on the host."""
    return [
        {name: _number(value) for name, value in group.items() if name != "params"} for group in optimizer.param_groups
    ]


def numbers_of_state(optimizer: torch.optim.Optimizer) -> list[dict[str, object]]:
    """The numbers that a step keeps on the host for each parameter, as counts of steps."""
    return [{name: _number(value) for name, value in state.items()} for state in optimizer.state.values()]


def _number(value: object) -> object:
    if isinstance(value, torch.Tensor):
        with _disable_current_modes():
            return None if value.is_cuda else value.tolist()
    return value if isinstance(value, int | float | tuple) else None
