"""A condition of the catalogue and the arguments of an operator in, whether it holds of them out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter
from typing import Any

import torch

from graphlint.effects import Condition, Effect, size

_MASKS = (torch.bool, torch.uint8)
Bound = Mapping[str, tuple[Any, ...]]
_argument_of: Callable[[Condition], str] = attrgetter("argument")


def holds(effect: Effect, bound: Bound) -> bool:
    """Whether an effect happens: all that it asks of one argument holds of it, or of the same element of a list."""
    if not effect.when:
        return True
    for name, group in groupby(sorted(effect.when, key=_argument_of), _argument_of):
        conditions = list(group)
        if name == "*":
            values = [one for given in bound.values() for value in given for one in (value, *_elements(value))]
            if not all(any(_holds(condition, one, bound) for one in values) for condition in conditions):
                return False
            continue
        value = bound.get(name, (None,))[0]
        candidates = (value, *_elements(value))
        if not any(all(_holds(one, candidate, bound, value) for one in conditions) for candidate in candidates):
            return False
    return True


def _holds(condition: Condition, value: Any, bound: Bound, whole: Any = None) -> bool:
    """Whether a condition holds of a value, which may be an element of the `whole` argument."""
    if condition.predicate in UNKNOWN:
        return False
    if condition.predicate in OF_ALL:
        return OF_ALL[condition.predicate](whole)
    if condition.predicate in RELATIVE:
        return RELATIVE[condition.predicate](value, condition, bound)
    return TESTS[condition.predicate](value, condition)


def _elements(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list | tuple) else ()


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _is_dtype(value: Any, name: str | None) -> bool:
    return bool(value.dtype is getattr(torch, name or "", None))


def _same(value: Any, condition: Condition, bound: Bound) -> bool:
    return _is_number(value) and bool(value == bound.get(condition.value or "", (None,))[0])


def _distinct(value: Any, condition: Condition, bound: Bound) -> bool:
    return value is not bound.get(condition.value or "", (None,))[0]


def _many(value: Any, condition: Condition, bound: Bound) -> bool:
    elements = {name: given[0].numel() for name, given in bound.items() if _is_tensor(given[0])}
    return _is_tensor(value) and bool(value.numel() >= size(condition.value or "", elements))


def _long(value: Any, condition: Condition, bound: Bound) -> bool:
    dimension = bound.get("dim", (-1,))[0]
    return _is_tensor(value) and bool(value.dim()) and value.shape[dimension] > size(condition.value or "", {})


def _names(value: Any, kind: str) -> bool:
    return isinstance(value, str | torch.device) and torch.device(value).type == kind


UNKNOWN = frozenset({"fresh", "within", "outside"})  # what an operator does not tell
TESTS: dict[str, Callable[[Any, Condition], bool]] = {
    "absent": lambda value, _: value is None,
    "none": lambda value, _: value is None,
    "cuda": lambda value, _: _names(value, "cuda"),
    "cpu": lambda value, _: _names(value, "cpu"),
    "given": lambda value, _: value is not None,
    "true": lambda value, _: value is True,
    "not-true": lambda value, _: value is not True,
    "false": lambda value, _: value is False,
    "not-false": lambda value, _: value is not False,
    "equals": lambda value, condition: str(value) in (condition.value or "").split("|"),
    "negative": lambda value, _: _is_number(value) and value < 0,
    "device": lambda value, _: _is_tensor(value) and value.is_cuda,
    "host": lambda value, _: _is_tensor(value) and not value.is_cuda,
    "tensor": lambda value, _: _is_tensor(value),
    "not-tensor": lambda value, _: value is not None and not _is_tensor(value),
    "number": lambda value, _: _is_number(value),
    "bool": lambda value, _: _is_tensor(value) and value.dtype in _MASKS,
    "not-bool": lambda value, _: _is_tensor(value) and value.dtype not in _MASKS,
    "pinned": lambda value, _: _is_tensor(value) and value.is_pinned(),
    "not-pinned": lambda value, _: _is_tensor(value) and not value.is_cuda and not value.is_pinned(),
    "not-dtype": lambda value, condition: _is_tensor(value) and not _is_dtype(value, condition.value),
    "sparse": lambda value, _: _is_tensor(value) and value.is_sparse,
    "batched": lambda value, _: _is_tensor(value) and value.shape[:-2].numel() > 1,
    "oblong": lambda value, _: _is_tensor(value) and value.dim() > 1 and value.shape[-1] != value.shape[-2],
}
RELATIVE: dict[str, Callable[[Any, Condition, Bound], bool]] = {
    "same": _same,
    "distinct": _distinct,
    "many": _many,
    "long": _long,
}
OF_ALL: dict[str, Callable[[Any], bool]] = {
    "sequence": lambda value: isinstance(value, list | tuple),
    "not-sequence": lambda value: value is not None and not isinstance(value, list | tuple),
    "several": lambda value: isinstance(value, list | tuple) and sum(one is not None for one in value) > 1,
}
