"""Arguments of a call in; copies of them, fresh ones, and their values by name out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from graphlint.errors import UsageError
from graphlint.runtime.compare.comparison import leaves
from graphlint.runtime.examine.fresh_inputs import fresh

_ROUNDED = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Values = dict[str, object]


def copied(arguments: Arguments) -> Arguments:
    """The same values at other addresses."""
    return renewed(arguments, 0, seed=0)


def renewed(arguments: Arguments, level: int, seed: int) -> Arguments:
    """Fresh inputs of a level, as `fresh_inputs` makes them."""
    args, kwargs = fresh([list(arguments[0]), arguments[1]], level, seed)
    return tuple(args), kwargs


def copy_into(static: Arguments, inputs: Arguments) -> None:
    """New values at the addresses that a graph reads."""
    with torch.no_grad():
        for (_, target), (_, source) in zip(leaves(static), leaves(inputs), strict=True):
            if isinstance(target, torch.Tensor) and isinstance(source, torch.Tensor):
                target.copy_(source)


def cloned(named: Iterable[tuple[str, object]]) -> Values:
    """Values as they are now, by name."""
    return {name: one.detach().clone() if isinstance(one, torch.Tensor) else one for name, one in named}


def require_device(arguments: Arguments) -> None:
    """Raises UsageError for a tensor of the host; one that holds a single number is let through."""
    named = [*leaves(arguments[0], "args"), *leaves(arguments[1], "kwargs")]
    for name, value in named:
        if isinstance(value, torch.Tensor) and not value.is_cuda and value.dim():
            raise UsageError(f"the example input `{name}` lies on the host; make it on the device")


def nudge(tensors: Iterable[torch.Tensor]) -> None:
    """Move each number of floating point by one unit of its last place, up or down in turn."""
    for tensor in tensors:
        is_spread = any(size > 1 and not stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        if tensor.dtype in _ROUNDED and not is_spread:
            signs = torch.arange(tensor.numel(), device=tensor.device).view(tensor.shape) % 2 * 2 - 1
            with torch.no_grad():
                tensor.add_(tensor * signs, alpha=torch.finfo(tensor.dtype).eps)
