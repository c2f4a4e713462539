"""What a replay gave and what eager gave in, the leaves that differ by more than eager's own noise out.

Long, since what a leaf of a tree is and how two leaves are compared are one matter: both look past what the program's
classes say of themselves.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import FunctionType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from graphlint.runtime.trace.containers import SEQUENCES, elements
from graphlint.runtime.trace.values import dtype_name, module_of, own_attributes

Tree = Any  # tensors and host values in tuples, lists, dictionaries and plain objects

ALLOWED = 10  # times the noise floor
FEW_ULPS = 4  # what adding in another order costs; less for narrow types, which round once, after the sum
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_WHOLE = (type, ModuleType, Enum, Tensor, torch.nn.Module)
_SINGLE = (type, Enum, torch.dtype, torch.layout, torch.memory_format)  # equal where they are one object
_TRUSTED = frozenset({*sys.stdlib_module_names, "torch", "numpy"})
_PLAIN_KEYS = (str, bytes, int, float, Enum, type(None))


@dataclass(frozen=True)
class Distance:
    """How far two tensors are apart; infinite where shapes, dtypes, or the places of NaN and infinity differ.

    `relative` is the largest difference in proportion to the larger of its two elements. `ulps` is the largest
    difference in units of the last place of the largest element, infinite for integers. `index` is the first
    element that differs. Complex numbers are looked at part by part.
    """

    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    index: tuple[int, ...] | None = None


UNBOUNDED = Distance(math.inf, math.inf, math.inf)


@dataclass(frozen=True)
class Difference:
    """A leaf that differs: in `value` (a tensor), as a `host` value, or in `structure` (of another kind, or missing).

    With a note, something else than the graph explains it.
    """

    path: str
    kind: str
    distance: Distance
    floor: float
    found: str
    expected: str
    note: str = ""

    @property
    def is_mismatch(self) -> bool:
        return not self.note


def attributes(value: object) -> dict[str, object]:
    """What an object holds; nothing for tensors, modules, classes and objects of the standard library."""
    library = module_of(type(value)).partition(".")[0] in sys.stdlib_module_names
    if isinstance(value, _WHOLE) or (library and not isinstance(value, SimpleNamespace)):
        return {}
    return {**_slots(value), **own_attributes(value)}


def _slots(value: object) -> dict[str, object]:
    found = {}
    for name in _slot_names(type(value)):
        with contextlib.suppress(AttributeError):  # nothing is in it
            found[name] = object.__getattribute__(value, name)
    return found


def _slot_names(kind: type) -> list[str]:
    """The attributes of a class's objects that are not in their `__dict__`, but for those that a subclass works out."""
    slots = [base.__dict__.get("__slots__", ()) for base in kind.__mro__]
    names = itertools.chain.from_iterable((given,) if isinstance(given, str) else given for given in slots)
    return [name for name in names if not name.startswith("__") and isinstance(_held(kind, name), MemberDescriptorType)]


def _held(kind: type, name: str) -> object:
    """What a class, or the first base that has it, holds by a name: a descriptor as it is."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def entries(value: object, names: Mapping[int, str] | None = None) -> list[tuple[str, object]]:
    """The parts of a container with the text that leads to each, as `['logits']` or `.loss`; none for a leaf.

    `names`, by id, are those of objects that may be keys.
    """
    if isinstance(value, dict):
        keys = [_key(key, position, names or {}) for position, key in enumerate(dict.keys(value))]
        return [(f"[{key}]", part) for key, part in zip(keys, dict.values(value), strict=True)]
    if isinstance(value, tuple) and isinstance(fields := getattr(type(value), "_fields", None), tuple):
        return [(f".{field}", part) for field, part in zip(fields, elements(value), strict=False)]
    if isinstance(value, SEQUENCES) and not isinstance(value, torch.Size):
        return [(f"[{position}]", part) for position, part in enumerate(elements(value))]
    return [(f".{name}", part) for name, part in attributes(value).items()]


def leaves(tree: Tree, name: str = "") -> list[tuple[str, object]]:
    """Every leaf with its path; a container in itself is left out, an object is looked into once."""
    return list(_leaves(tree, name, set()))


def same(found: object, expected: object) -> bool:
    """Whether host values are equal: NaN equals NaN; what defines no equality equals what is of its type."""
    if type(found) is type(expected) and type(found).__eq__ is object.__eq__:
        return found is expected or not isinstance(found, _SINGLE)
    if isinstance(type(found).__eq__, FunctionType) and module_of(type(found)).partition(".")[0] not in _TRUSTED:
        return type(found) is type(expected)  # it would run code of the program
    if hasattr(found, "tobytes") and hasattr(expected, "tobytes"):
        shapes = getattr(found, "shape", None), getattr(expected, "shape", None)
        return shapes[0] == shapes[1] and bool(found.tobytes() == expected.tobytes())
    return bool(found == expected) or bool(found != found and expected != expected)


def unequal(pairs: Sequence[tuple[Tensor, Tensor]]) -> list[bool]:
    """Whether bits differ, for pairs of one shape, dtype and device; waits once for each device."""
    return [bool(flag) for flag in read([(bits(first) != bits(second)).any() for first, second in pairs])]


def distance(found: Tensor, expected: Tensor) -> Distance:
    """How far a tensor is from what is expected."""
    return _distances([(found, expected)])[0]


def noise_floor(runs: Iterable[Tree], name: str = "output") -> dict[str, float]:
    """The largest absolute difference between any two runs on one input, for each tensor leaf."""
    pairs = [
        (path, first, second)
        for one, other in itertools.combinations([dict(leaves(run, name)) for run in runs], 2)
        for path, first in one.items()
        if isinstance(first, Tensor) and isinstance(second := other.get(path), Tensor)
    ]
    floor: dict[str, float] = {}
    for (path, _, _), apart in zip(pairs, _distances([(one, other) for _, one, other in pairs]), strict=True):
        floor[path] = max(floor.get(path, 0.0), apart.absolute)
    return floor


def differing(found: Tree, expected: Tree, floor: Mapping[str, float], name: str = "output") -> list[Difference]:
    """The leaves that differ, in the order of `expected`; `floor` is what `noise_floor` gives under the same name."""
    ours, theirs = dict(leaves(found, name)), dict(leaves(expected, name))
    differences: dict[str, Difference] = {}
    tensors: dict[str, tuple[Tensor, Tensor]] = {}
    for path in theirs | ours:
        one, other = ours.get(path, _MISSING), theirs.get(path, _MISSING)
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            tensors[path] = one, other
        elif isinstance(one, Tensor) or isinstance(other, Tensor) or one is _MISSING or other is _MISSING:
            differences[path] = _unlike(path, "structure", one, other)
        elif not same(one, other):
            differences[path] = _unlike(path, "host", one, other)
    for (path, pair), apart in zip(tensors.items(), _distances(list(tensors.values())), strict=True):
        if (difference := _judge(path, pair, apart, floor.get(path, 0.0))) is not None:
            differences[path] = difference
    return [differences[path] for path in theirs | ours if path in differences]


def first_mismatch(
    found: Iterable[Tree], expected: Sequence[Tree], floors: Sequence[Mapping[str, float]]
) -> tuple[int, Difference] | None:
    """The position of the first step with a mismatch, and the mismatch; the trees of each step are unnamed."""
    for step, (one, other, floor) in enumerate(zip(found, expected, floors, strict=True)):
        for difference in differing(one, other, floor, ""):
            if difference.is_mismatch:
                return step, difference
    return None


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


_MISSING = _Missing()


def _leaves(value: object, path: str, above: set[int]) -> Iterator[tuple[str, object]]:
    if id(value) in above:
        return
    parts = entries(value)
    if not parts:
        yield path, value
        return
    above.add(id(value))
    for step, part in parts:
        yield from _leaves(part, path + step, above)
    # An object stays marked: where many refer to each other, the paths between them are without number.
    if isinstance(value, (dict, list, tuple, deque)):
        above.remove(id(value))


def _key(key: object, position: int, names: Mapping[int, str]) -> str:
    if isinstance(key, _PLAIN_KEYS):
        return repr(key)
    return names.get(id(key), f"<{type(key).__name__} {position}>")


def _unlike(path: str, kind: str, found: object, expected: object) -> Difference:
    return Difference(path, kind, UNBOUNDED, 0.0, _text(found), _text(expected))


def _judge(path: str, pair: tuple[Tensor, Tensor], apart: Distance, floor: float) -> Difference | None:
    note = ""
    if apart.absolute <= ALLOWED * floor < math.inf or not apart.absolute:
        return None
    if floor == math.inf:
        note = "eager differs from itself here"
    elif apart.ulps <= min(FEW_ULPS, pair[1].dtype.itemsize):
        note = "another algorithm was chosen"
    found, expected = map(_text, pair)
    kind = "value" if found == expected else "structure"
    return Difference(path, kind, apart, floor, found, expected, note)


def _text(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{dtype_name(value.dtype)} {list(value.shape)}"
    return repr(value)


def _distances(pairs: Sequence[tuple[Tensor, Tensor]]) -> list[Distance]:
    """The distances of many pairs, with two host syncs for each device at most."""
    found = [Distance() if one.shape == other.shape and one.dtype == other.dtype else UNBOUNDED for one, other in pairs]
    alike = [apart is not UNBOUNDED and one is not other for (one, other), apart in zip(pairs, found, strict=True)]
    near = [(_dense(one), _dense(other.to(one.device))) for one, other in itertools.compress(pairs, alike)]
    positions = [position for position, like in enumerate(alike) if like]
    changed = unequal(near)
    positions, near = list(itertools.compress(positions, changed)), list(itertools.compress(near, changed))
    measured = read([_measure(one, other) for one, other in near])
    for position, (one, _), numbers in zip(positions, near, measured, strict=True):
        found[position] = _distance(one, numbers, pairs[position][0].dim())
    return found


def _measure(found: Tensor, expected: Tensor) -> Tensor:
    """The largest absolute and relative gap, the largest finite magnitude, and the first place with a gap."""
    one, other = _wide(found), _wide(expected)
    agrees = (one == other) | (one.isnan() & other.isnan())
    gap = (one - other).abs().nan_to_num(nan=math.inf, posinf=math.inf)
    if not found.dtype.is_floating_point:
        agrees = bits(found) == bits(expected)
        gap = gap.clamp(min=1)  # float64 does not tell large integers apart
    gap = gap.masked_fill(agrees, 0)
    relative = (gap / torch.maximum(one.abs(), other.abs())).nan_to_num(nan=math.inf, posinf=math.inf)
    largest = other.abs().masked_fill(~other.isfinite(), 0).amax()
    place = (gap > 0).to(torch.uint8).flatten().argmax()
    return torch.stack([gap.amax(), relative.masked_fill(agrees, 0).amax(), largest, place]).double()


def _distance(dense: Tensor, measured: Sequence[float], dimensions: int) -> Distance:
    absolute, relative, largest, place = measured
    if not absolute:
        return Distance()
    ulps = math.inf
    if dense.dtype.is_floating_point and largest:
        ulps = absolute / math.ldexp(torch.finfo(dense.dtype).eps, math.frexp(largest)[1] - 1)
    index = [int(place) // math.prod(dense.shape[after + 1 :]) % size for after, size in enumerate(dense.shape)]
    return Distance(absolute, relative, ulps, tuple(index[:dimensions]))


def _wide(dense: Tensor) -> Tensor:
    """The same numbers in a type that has arithmetic."""
    narrow = dense.dtype.is_floating_point and dense.dtype.itemsize <= 2
    return dense.to(torch.float32 if narrow else torch.float64)


def bits(tensor: Tensor) -> Tensor:
    """Its numbers as integers of the same size."""
    dense = _dense(tensor)
    return dense.view(_BITS[dense.dtype.itemsize])


def _dense(tensor: Tensor) -> Tensor:
    """The numbers of a tensor as a strided one: complex numbers in pairs, two in a byte as that byte."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.dtype.is_complex:
        tensor = torch.view_as_real(tensor.resolve_conj())
    if tensor.dtype == getattr(torch, "float4_e2m1fn_x2", None):
        tensor = tensor.view(torch.uint8)
    return tensor.resolve_neg()


def read(numbers: Sequence[Tensor]) -> list[Any]:
    """What small tensors of one shape hold, in their order."""
    places: defaultdict[torch.device, list[int]] = defaultdict(list)
    for place, tensor in enumerate(numbers):
        places[tensor.device].append(place)
    found: dict[int, Any] = {}
    for together in places.values():
        found.update(zip(together, torch.stack([numbers[place] for place in together]).tolist(), strict=True))
    return [found[place] for place in range(len(numbers))]
