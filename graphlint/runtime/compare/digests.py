"""Trees in, what stands for the numbers in them out: equal where all bits are, and a number for each tensor."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import torch
from torch import Tensor

from graphlint.runtime.compare.comparison import Tree, bits, leaves, read, same

_STRETCH = 1 << 20  # numbers that are summed up at once
_FACTOR = 6364136223846793005  # odd, so that multiplying loses nothing


def digests(tree: Tree) -> dict[str, object]:
    """What stands for each leaf, by its path."""
    found = dict(leaves(tree, ""))
    tensors = {name: one for name, one in found.items() if isinstance(one, Tensor)}
    sums = zip(tensors.items(), read([_sum(one) for one in tensors.values()]), strict=True)
    return found | {name: (tuple(one.shape), one.dtype, total) for (name, one), total in sums}


def alike(found: Mapping[str, object], expected: Mapping[str, object]) -> bool:
    """Whether the leaves of two trees are equal, as their digests tell."""
    return found.keys() == expected.keys() and all(same(one, expected[name]) for name, one in found.items())


def _sum(tensor: Tensor) -> Tensor:
    """Its numbers, each times one of its place, added up with what overflows left out."""
    total = torch.zeros((), dtype=torch.int64, device=tensor.device)
    for part in bits(tensor).reshape(-1).split(_STRETCH):
        count = part.numel()
        weights = _weights(tensor.device, 1 << (count - 1).bit_length())
        total = total * _FACTOR + (part.long() * weights[:count]).sum()
    return total


@functools.cache
def _weights(device: torch.device, count: int) -> Tensor:
    mixed = torch.arange(1, count + 1, device=device) * _FACTOR
    return (mixed ^ (mixed >> 31)) * _FACTOR | 1
