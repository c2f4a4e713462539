"""Tensors in, the bytes of their memory that they cover out, as sorted stretches from a first one to one behind."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import torch

Extent = tuple[int, int]
_MOST = 4096  # stretches of one tensor; one that has more counts as all that lies between its ends


def covered(tensor: torch.Tensor) -> list[Extent]:
    """The bytes of a tensor."""
    if not tensor.numel():
        return []
    length = size = tensor.element_size()
    first = tensor.storage_offset() * size
    outer = []
    for stride, number in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if stride * size == length:
            length *= number
        elif stride and number > 1:
            outer.append(range(0, number * stride * size, stride * size))
    if math.prod(map(len, outer)) > _MOST:
        return [(first, first + sum(steps[-1] for steps in outer) + length)]
    starts = (first + sum(steps) for steps in itertools.product(*outer))
    return joined((start, start + length) for start in starts)


def joined(extents: Iterable[Extent]) -> list[Extent]:
    """The same bytes, in as few stretches as there can be."""
    found: list[Extent] = []
    for first, last in sorted(one for one in extents if one[0] < one[1]):
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found


def without(extents: Iterable[Extent], others: Iterable[Extent]) -> list[Extent]:
    """The bytes that are in none of the others."""
    found, taken = [], joined(others)[::-1]
    for first, last in joined(extents):
        while taken and taken[-1][0] < last:
            start, end = taken[-1]
            found.append((first, start))
            first = max(first, end)
            if end > last:
                break
            taken.pop()
        found.append((first, last))
    return joined(found)


def common(extents: Iterable[Extent], others: Iterable[Extent]) -> list[Extent]:
    """The bytes that are in both."""
    own = joined(extents)
    return without(own, without(own, others))


def count(extents: Iterable[Extent]) -> int:
    """How many bytes there are in stretches that are joined."""
    return sum(last - first for first, last in extents)
