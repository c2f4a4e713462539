"""An effect of the catalogue and the arguments of a call in, whether what it asks of them holds out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any

import torch

from graphlint.rulebook.effects import Condition, Effect, size
from graphlint.runtime.trace.containers import first_elements
from graphlint.runtime.trace.values import CHOICES, CONSTANTS, DEPTH, IsFresh, is_named, qualified

_MASKS = (torch.bool, torch.uint8)
Bound = Mapping[str, tuple[Any, ...]]
Test = Callable[[Any, Condition, Bound], bool]
_argument_of: Callable[[Condition], str] = attrgetter("argument")


def holds(effect: Effect, bound: Bound, is_fresh: IsFresh | None = None) -> bool:
    """Whether an effect happens: all that it asks of one argument holds of it, or of the same element of a container.

    Who does not know the capture does not tell what `is_fresh`; what stands around a call is not known here.
    """
    for name, group in itertools.groupby(sorted(effect.when, key=_argument_of), _argument_of):
        tests = [_test(condition, bound, is_fresh) for condition in group]
        if name == "*":
            values = [one for given in bound.values() for one in _candidates(given)]
            if not all(any(test(whole, one) for whole, one in values) for test in tests):
                return False
        elif not any(all(test(whole, one) for test in tests) for whole, one in _candidates(_given(name, bound))):
            return False
    return True


def _test(condition: Condition, bound: Bound, is_fresh: IsFresh | None) -> Callable[[Any, Any], bool]:
    """What tells of an argument and an element of it whether a condition holds."""
    predicate = condition.predicate
    if predicate in OF_ARGUMENTS:
        return lambda whole, _: OF_ARGUMENTS[predicate](whole, condition, bound)
    if predicate == "fresh" and is_fresh is not None:
        return lambda _, one: _is_tensor(one) and is_fresh(one)
    if predicate == "not-fresh" and is_fresh is not None:
        return lambda _, one: _is_tensor(one) and not is_fresh(one)
    if predicate in UNKNOWN:
        return lambda *_: False
    return lambda _, one: OF_ELEMENTS[predicate](one, condition, bound)


def _given(name: str, bound: Bound) -> tuple[Any, ...]:
    """What is given for a parameter, None where it is left out; of a dotted one, what the object holds."""
    owner, _, field = name.partition(".")
    given = bound.get(owner) or (None,)
    return (getattr(given[0], field, None),) if field else given


def _candidates(given: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """Each argument with itself and with what it contains."""
    for whole in given:
        yield whole, whole
        for one in _elements(whole, DEPTH):
            yield whole, one


def _elements(value: Any, depth: int) -> Iterator[Any]:
    """What a container contains, and what the containers in it contain."""
    if depth and isinstance(value, dict | list | tuple | set | frozenset):
        for one in first_elements(value).values():
            yield one
            yield from _elements(one, depth - 1)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _equals(value: Any, condition: Condition, _bound: Bound) -> bool:
    """Only of what has no numbers on the device, which text would read back."""
    if not is_named(value) and not isinstance(value, CONSTANTS + CHOICES):
        return False
    return (qualified(value) if is_named(value) else str(value)) in (condition.value or "").split("|")


def _not_tensor(value: Any, _condition: Condition, _bound: Bound) -> bool:
    """A list of nothing holds nothing that could be copied."""
    return value is not None and not _is_tensor(value) and not (_is_sequence(value) and not value)


def _same(value: Any, condition: Condition, bound: Bound) -> bool:
    other = _given(condition.value or "", bound)[0]
    return _is_number(value) and _is_number(other) and bool(value == other)


def _distinct(value: Any, condition: Condition, bound: Bound) -> bool:
    return value is not _given(condition.value or "", bound)[0]


def _not_dtype(value: Any, condition: Condition, _bound: Bound) -> bool:
    return _is_tensor(value) and value.dtype is not getattr(torch, condition.value or "", None)


def _many(value: Any, condition: Condition, bound: Bound) -> bool:
    elements = {name: given[0].numel() for name, given in bound.items() if given and _is_tensor(given[0])}
    return _is_tensor(value) and bool(value.numel() >= size(condition.value or "", elements))


def _long(value: Any, condition: Condition, bound: Bound) -> bool:
    dimension = (bound.get("dim") or (-1,))[0]
    return _is_tensor(value) and bool(value.dim()) and value.shape[dimension] > size(condition.value or "", {})


def _device_type(value: Any) -> str:
    """The type of the device that an argument names or, as a tensor, lies on; empty where it does neither."""
    if _is_tensor(value):
        return "cuda" if value.is_cuda else "cpu"
    if isinstance(value, int) and not isinstance(value, bool):
        return "cuda"
    text = qualified(value) if isinstance(value, type) else str(value) if isinstance(value, str | torch.device) else ""
    if text.startswith("torch.") and text.endswith("Tensor"):
        return "cuda" if ".cuda." in text else "" if text == "torch.Tensor" else "cpu"
    return text.partition(":")[0]


UNKNOWN = frozenset({"fresh", "not-fresh", "within", "outside"})  # what arguments alone do not tell
OF_ARGUMENTS: dict[str, Test] = {
    "absent": lambda value, *_: value is None,
    "given": lambda value, *_: value is not None,
    "none": lambda value, *_: value is None,
    "true": lambda value, *_: value is True,
    "not-true": lambda value, *_: value is not True,
    "false": lambda value, *_: value is False,
    "not-false": lambda value, *_: value is not False,
    "equals": _equals,
    "same": _same,
    "distinct": _distinct,
    "negative": lambda value, *_: _is_number(value) and value < 0,
    "number": lambda value, *_: _is_number(value),
    "not-tensor": _not_tensor,
    "sequence": lambda value, *_: _is_sequence(value),
    "not-sequence": lambda value, *_: value is not None and not _is_sequence(value),
    "several": lambda value, *_: _is_sequence(value) and sum(one is not None for one in value) > 1,
    "cuda": lambda value, *_: _device_type(value) == "cuda",
    "cpu": lambda value, *_: _device_type(value) == "cpu",
}
OF_ELEMENTS: dict[str, Test] = {
    "device": lambda value, *_: _is_tensor(value) and value.is_cuda,
    "host": lambda value, *_: _is_tensor(value) and not value.is_cuda,
    "tensor": lambda value, *_: _is_tensor(value),
    "bool": lambda value, *_: _is_tensor(value) and value.dtype in _MASKS,
    "not-bool": lambda value, *_: _is_tensor(value) and value.dtype not in _MASKS,
    "pinned": lambda value, *_: _is_tensor(value) and value.is_pinned(),
    "not-pinned": lambda value, *_: _is_tensor(value) and not value.is_cuda and not value.is_pinned(),
    "not-dtype": _not_dtype,
    "many": _many,
    "long": _long,
    "sparse": lambda value, *_: _is_tensor(value) and value.is_sparse,
    "batched": lambda value, *_: _is_tensor(value) and value.shape[:-2].numel() > 1,
    "oblong": lambda value, *_: _is_tensor(value) and value.dim() > 1 and value.shape[-1] != value.shape[-2],
}
