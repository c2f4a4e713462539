"""Operators whose results depend on numbers in; results as if no element were like another, with no numbers, out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from graphlint.runtime.trace.operators import Call

META = torch.device("meta")
_MASKS = (torch.bool, torch.uint8)


def _counted(number: int, dtype: torch.dtype = torch.int64, *inner: int) -> torch.Tensor:
    return torch.empty((number, *inner), dtype=dtype, device=META)


def _nonzero(call: Call) -> torch.Tensor:
    return _counted(call.args[0].numel(), torch.int64, call.args[0].dim())


def _masked_select(call: Call) -> torch.Tensor:
    source, mask = call.args[:2]
    return _counted(math.prod(torch.broadcast_shapes(source.shape, mask.shape)), source.dtype)


def _unique(call: Call) -> tuple[torch.Tensor, ...]:
    """The elements, or slices along a dimension, then where each went, and how often each was there."""
    source, dimension = call.args[0], _argument(call, "dim")
    if dimension is None:
        count, values, places = source.numel(), _counted(source.numel(), source.dtype), source.shape
    else:
        count, values = source.shape[dimension], torch.empty_like(source, device=META)
        places = torch.Size([count])
    return (values, _counted(count).new_empty(places), _counted(count))[: len(call.func._schema.returns)]


def _repeat_interleave(call: Call) -> object:
    if _argument(call, "output_size") is not None:
        return call.func(*call.args, **call.kwargs)
    return _counted(call.args[0].numel())


def _bincount(call: Call) -> torch.Tensor:
    return _counted(max(1, _argument(call, "minlength") or 0))


def _index(call: Call) -> object:
    """A mask finds every element."""
    indices: list[torch.Tensor | None] = []
    for one in call.args[1]:
        is_mask = one is not None and one.dtype in _MASKS
        indices += [_counted(one.numel()) for _ in range(one.dim())] if is_mask else [one]
    return call.func(call.args[0], indices)


def _ctc_loss(call: Call) -> tuple[torch.Tensor, torch.Tensor]:
    scores, targets = call.args[:2]
    steps, batch = scores.shape[:2]
    return _counted(batch, scores.dtype), _counted(batch, scores.dtype, steps, 2 * targets.shape[-1] + 1)


def _argument(call: Call, name: str) -> Any:
    """An argument by its name; None where the operator has none, or where it is left out."""
    names = [one.name for one in call.func._schema.arguments]
    position = names.index(name) if name in names else len(call.args)
    return call.args[position] if position < len(call.args) else call.kwargs.get(name)


INVENTED: dict[str, Callable[[Call], object]] = {
    "aten::nonzero": _nonzero,
    "aten::masked_select": _masked_select,
    "aten::_unique": _unique,
    "aten::_unique2": _unique,
    "aten::unique_consecutive": _unique,
    "aten::unique_dim": _unique,
    "aten::unique_dim_consecutive": _unique,
    "aten::repeat_interleave": _repeat_interleave,
    "aten::bincount": _bincount,
    "aten::index": _index,
    "aten::_ctc_loss": _ctc_loss,
    "aten::equal": lambda call: True,
    "aten::allclose": lambda call: True,
}
