"""Example inputs in, other inputs of the same kind out: elsewhere in memory, in another order, or with other values.

A callable relies on more than shapes: that offsets rise, that rows sum to one, that a mask is causal. `TRAITS` lists
what a tensor may be, and how new values are made that are it too.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from graphlint.runtime.compare.comparison import Tree, entries, leaves

SAME_VALUES, OTHER_ORDER, NEW_VALUES = LEVELS = (0, 1, 2)
_NEVER = math.inf


@dataclass(frozen=True)
class Trait:
    """What a tensor may be, how to tell, how to make new values, and where any order along dimension 0 is as good.

    Both functions get int64 for integers and truth values, so that differences have a sign, and float32 for 8-bit
    floats. `permutes` is the least number of dimensions with which the order is free.
    """

    name: str
    holds: Callable[[Tensor], bool]
    make: Callable[[Tensor, Generator], Tensor]
    permutes: float = 1


def fresh(example: Tree, level: int, seed: int) -> Tree:
    """The same tree with fresh tensors; host values and whatever else holds no tensor stay the same objects.

    Level 0 keeps the values. Level 1 permutes dimension 0, alike for equal sizes, so that a row and its mask stay
    together. Level 2 makes new values. Dtype, shape, strides, device, requires_grad and shared memory are kept at every
    level. A seed gives the same inputs each time and leaves the global random state alone. A tensor that is sparse,
    quantized, or of a subclass is copied at every level. Raises ValueError for another level.
    """
    if level not in LEVELS:
        raise ValueError(f"level {level} is none of {LEVELS}")
    groups: defaultdict[int, dict[int, Tensor]] = defaultdict(dict)
    for _, leaf in leaves(example):
        if isinstance(leaf, Tensor):
            groups[leaf.untyped_storage()._cdata if _is_plain(leaf) else id(leaf)][id(leaf)] = leaf
    memo, dice = dict[int, Any](), _Dice(seed)
    with torch.no_grad():
        for group in groups.values():
            for old, new in zip(group.values(), _renewed(list(group.values()), level, dice), strict=True):
                memo[id(old)] = new.requires_grad_(old.requires_grad)
    _keep_hosts(example, memo, set())
    return copy.deepcopy(example, memo)


def trait_of(tensor: Tensor) -> Trait:
    """The first trait of the table that a tensor has."""
    values = _values(tensor)
    return next(trait for trait in TRAITS if trait.holds(values))


class _Dice:
    """Random numbers of one seed, for each device."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.generators: dict[torch.device, Generator] = {}
        self.orders: dict[int, Tensor] = {}

    def generator(self, device: torch.device) -> Generator:
        if device not in self.generators:
            # The class is looked up when it is used: the emulator brings its own.
            self.generators[device] = torch.Generator(device=device).manual_seed(self.seed)
        return self.generators[device]

    def order(self, size: int) -> Tensor:
        """A permutation that moves something, the same for every tensor of this size."""
        if size not in self.orders:
            order = torch.randperm(size, generator=self.generator(torch.device("cpu")), device="cpu")
            self.orders[size] = order.roll(1) if torch.equal(order, torch.arange(size, device="cpu")) else order
        return self.orders[size]


def _is_plain(tensor: Tensor) -> bool:
    if type(tensor) not in (Tensor, torch.nn.Parameter) or tensor.layout != torch.strided:
        return False
    return not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_meta)


def _renewed(group: list[Tensor], level: int, dice: _Dice) -> list[Tensor]:
    """New tensors in place of those that share one storage."""
    if not _is_plain(group[0]):
        return [tensor.detach().clone() for tensor in group]
    made = _moved(group)
    if level == SAME_VALUES:
        return made
    filled = torch.zeros(made[0].untyped_storage().nbytes(), dtype=torch.bool, device=made[0].device)
    for tensor in sorted(made, key=Tensor.numel, reverse=True):
        # Elements that an expanded dimension repeats are written once.
        once = tensor[tuple(slice(None if stride else 1) for stride in tensor.stride())]
        starts = [stride * once.itemsize for stride in once.stride()]
        place = filled.as_strided(once.shape, starts, once.storage_offset() * once.itemsize)
        if place.any():
            continue  # a part of a larger one, which has its values already
        place.fill_(True)
        values, trait = _values(once), trait_of(once)
        if level == NEW_VALUES:
            once.copy_(trait.make(values, dice.generator(once.device)))
        elif values.dim() >= trait.permutes and len(values) > 1:
            once.copy_(values[dice.order(len(values)).to(once.device)])
    return made


def _moved(group: list[Tensor]) -> list[Tensor]:
    """The same values at another address, as far from each other as they were."""
    starts = [tensor.storage_offset() * tensor.itemsize for tensor in group]
    low = min(starts) // 512 * 512  # as the device's allocator aligns
    high = max(start + _extent(tensor) for start, tensor in zip(starts, group, strict=True))
    device = group[0].device
    source = torch.empty(0, dtype=torch.uint8, device=device).set_(group[0].untyped_storage(), low, (high - low,), (1,))
    target = torch.empty_like(source, pin_memory=device.type == "cpu" and group[0].is_pinned()).copy_(source)
    return [
        torch.empty(0, dtype=tensor.dtype, device=device).set_(
            target.untyped_storage(), (start - low) // tensor.itemsize, tensor.shape, tensor.stride()
        )
        for start, tensor in zip(starts, group, strict=True)
    ]


def _extent(tensor: Tensor) -> int:
    """Bytes from the first element of a tensor to the end of its last."""
    if not tensor.numel():
        return 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return int((last + 1) * tensor.itemsize)


def _keep_hosts(value: object, memo: dict[int, Any], seen: set[int]) -> None:
    """Let a deep copy leave alone what holds no tensor."""
    if id(value) in memo or id(value) in seen:
        return
    seen.add(id(value))
    if not any(isinstance(leaf, Tensor) for _, leaf in leaves(value)):
        memo[id(value)] = value
        return
    for _, part in entries(value):
        _keep_hosts(part, memo, seen)


def _values(tensor: Tensor) -> Tensor:
    values = tensor.detach()
    if values.dtype.is_floating_point:
        return values.float() if values.itemsize == 1 else values
    return values if values.dtype.is_complex else values.long()


def _is_integer(values: Tensor) -> bool:
    return bool(values.dtype == torch.int64)


def _has_rows(values: Tensor, of_floats: int, of_integers: int = 2) -> bool:
    """Whether rows are so long that what they show is no chance."""
    return values.dim() > 0 and bool(values.shape[-1] >= (of_integers if _is_integer(values) else of_floats))


def _is_masking(values: Tensor) -> bool:
    """The lowest number of a type stands for minus infinity."""
    if not values.dtype.is_floating_point:
        return False
    return bool((~values.isfinite() | (values <= torch.finfo(values.dtype).min)).any())


def _is_triangular(values: Tensor) -> bool:
    """Zero on exactly one side of the diagonal that ends in the last corner; the diagonal itself is on either side."""
    height, width = values.shape[-2:] if values.dim() > 1 else (0, 0)
    if min(height, width) < 2 or (height != width and height < 3):
        return False
    filled = values != 0
    full, offset = torch.ones_like(filled), width - height
    shapes = full.tril(offset), full.tril(offset - 1), full.triu(offset), full.triu(offset + 1)
    return any(torch.equal(filled, shape) for shape in shapes)


def _is_range(values: Tensor) -> bool:
    if not _has_rows(values, of_integers=3, of_floats=4):
        return False
    steps = values.diff()
    first = steps.flatten()[0]
    rounding = 0 if _is_integer(values) else 4 * torch.finfo(values.dtype).eps * values.abs().amax()
    return bool((((steps - first).abs() <= rounding) & (first.abs() > rounding)).all())


def _is_permutation(values: Tensor) -> bool:
    if not _is_integer(values) or not _has_rows(values, of_floats=2):
        return False
    return bool((values.sort().values == torch.arange(values.shape[-1], device=values.device)).all())


def _has_two_values(values: Tensor) -> bool:
    low, high = values.aminmax()
    two = bool(((values == low) | (values == high)).all())
    return two and (values.numel() >= 8 or bool((low == 0) & (high == 1)))


def _is_one_hot(values: Tensor) -> bool:
    ones = values == 1
    return _has_rows(values, of_floats=2) and bool((ones | (values == 0)).all() & (ones.sum(-1) == 1).all())


def _is_sorted(values: Tensor) -> bool:
    """All rows in one direction, and not all of equal elements; labels below zero (-100 for none) are no offsets."""
    if not _has_rows(values, of_floats=4) or (_is_integer(values) and (values < 0).any()):
        return False
    steps = values.diff()
    return bool((steps > 0).any() ^ (steps < 0).any())


def _sums_to_one(values: Tensor) -> bool:
    if not values.dtype.is_floating_point or not _has_rows(values, of_floats=2):
        return False
    off = (values.double().sum(-1) - 1).abs().amax()
    return bool((values >= 0).all() & (off <= 4 * torch.finfo(values.dtype).eps))


def _is_listing(values: Tensor) -> bool:
    """Lengths, whose sum counts, or slots, which occur once."""
    return _is_integer(values) and values.numel() in (max(values.shape), values.unique().numel())


def _keep(values: Tensor, dice: Generator) -> Tensor:
    return values


def _shuffle(values: Tensor, dice: Generator) -> Tensor:
    return values.flatten()[_order(values.numel(), dice)].view(values.shape)


def _shuffle_rows(values: Tensor, dice: Generator) -> Tensor:
    rows = values.reshape(-1, values.shape[-1])
    return rows[_order(len(rows), dice)].view(values.shape)


def _shuffle_in_rows(values: Tensor, dice: Generator) -> Tensor:
    return values.gather(-1, torch.rand(values.shape, generator=dice, device=values.device).argsort(-1))


def _shuffle_steps(values: Tensor, dice: Generator) -> Tensor:
    """The same ends and the same steps in another order, so that the longest sequence stays as long."""
    steps = values.diff()
    inner = values[..., :1] + _shuffle_in_rows(steps, dice)[..., :-1].cumsum(-1)
    inner = inner.clamp(values.amin(-1, keepdim=True), values.amax(-1, keepdim=True))
    inner = inner.sort(-1, descending=bool((steps < 0).any())).values
    return torch.cat([values[..., :1], inner, values[..., -1:]], -1)


def _draw(values: Tensor, dice: Generator) -> Tensor:
    """Integers of the same range; negative ones stay, since they often stand for nothing."""
    counted = values >= 0
    low, high = (int(end) for end in values[counted].aminmax()) if counted.any() else (0, 0)
    drawn = torch.randint(low, min(high, 2**63 - 2) + 1, values.shape, generator=dice, device=values.device)
    return torch.where(counted, drawn, values)


def _blend(values: Tensor, dice: Generator) -> Tensor:
    """Between two elements drawn at random, which keeps range, sign and spread; zeros stay where they are."""
    some, shape = values[values != 0], values.shape
    first, second = (some[torch.randint(len(some), shape, generator=dice, device=dice.device)] for _ in range(2))
    weight = torch.rand(shape, generator=dice, device=dice.device, dtype=values.dtype)
    return torch.where(values == 0, values, torch.lerp(first, second, weight).clamp(some.amin(), some.amax()))


def _order(size: int, dice: Generator) -> Tensor:
    return torch.randperm(size, generator=dice, device=dice.device)


TRAITS = (
    Trait("empty", lambda t: not t.numel(), _keep, permutes=_NEVER),
    Trait("flag", lambda t: not t.dim(), _keep, permutes=_NEVER),
    Trait("constant", lambda t: bool((t == t.flatten()[0]).all()), _keep, permutes=_NEVER),
    Trait("complex", Tensor.is_complex, lambda t, dice: torch.view_as_complex(_blend(torch.view_as_real(t), dice))),
    Trait("mask of infinities", _is_masking, _keep, permutes=_NEVER),
    Trait("triangular", _is_triangular, _keep, permutes=_NEVER),
    Trait("range", _is_range, _keep, permutes=_NEVER),
    Trait("permutation", _is_permutation, _shuffle_in_rows),
    Trait("one-hot rows", _is_one_hot, _shuffle_in_rows),
    Trait("prefixes", lambda t: _is_sorted(t) and _has_two_values(t), _shuffle_rows, permutes=2),
    Trait("two values", _has_two_values, _shuffle_in_rows),
    Trait("sorted rows", _is_sorted, _shuffle_steps, permutes=2),
    Trait("rows that sum to one", _sums_to_one, _shuffle_in_rows),
    Trait("list of integers", _is_listing, _shuffle),
    Trait("integers", _is_integer, _draw),
    Trait("whole numbers", lambda t: bool((t == t.round()).all()), lambda t, dice: _blend(t, dice).round()),
    Trait("numbers", lambda t: True, _blend),
)
