"""A value of the host and a chain of attributes behind it in, what is compared of it at two moments out."""

from __future__ import annotations

import inspect
import itertools
import operator
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from graphlint.runtime.trace.containers import CONTAINERS, element, elements, first_elements
from graphlint.runtime.trace.frames import MISSING, local
from graphlint.runtime.trace.values import own_attributes

SCALARS = (bool, int, float, complex, str, type(None))
ITERATORS: tuple[type, ...] = (
    types.GeneratorType,
    itertools.count,
    type(iter([])),
    type(iter(())),
    type(iter(range(0))),
)
LENGTH = "length"  # what it is called in the description of a container

Description = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Position:
    """How far an iterator has come; `key` is its identity."""

    key: int
    reached: object

    @classmethod
    def of(cls, iterator: Any) -> Position:
        """Told without taking a value from it: by the variables of a generator, or by what is left."""
        if isinstance(iterator, types.GeneratorType):
            frame = iterator.gi_frame
            return cls(id(iterator), frame and [id(local(frame, name)) for name in frame.f_code.co_varnames])
        is_endless = isinstance(iterator, itertools.count)
        return cls(id(iterator), repr(iterator) if is_endless else operator.length_hint(iterator))


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """The memory of a tensor, by the identity of its storage, its address and its shape."""

    key: int
    address: int
    shape: tuple[int, ...]
    is_host: bool

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorMemory | None:
        if is_lazy(tensor):
            return None
        try:
            storage = tensor.untyped_storage()
        except (NotImplementedError, RuntimeError):
            return None
        return cls(storage._cdata, storage.data_ptr(), tuple(tensor.shape), not tensor.is_cuda)


def follow(value: object, steps: tuple[str | tuple[object], ...]) -> object:
    """What a chain leads to, without running any code of the objects on the way."""
    for step in steps:
        value = element(value, step[0]) if isinstance(step, tuple) else _attribute(value, step)
        if value is MISSING:
            return MISSING
    return value


def describe(value: object) -> Description:
    """What is compared of a value: a number or text, the memory of a tensor, or of those that an object holds."""
    if isinstance(value, torch.Tensor):
        return {"": TensorMemory.of(value)}
    if isinstance(value, torch.nn.Module):
        tensors = [*value.named_parameters(), *value.named_buffers()]
        return {f".{name}": TensorMemory.of(tensor) for name, tensor in tensors}
    if isinstance(value, torch.optim.lr_scheduler.LRScheduler):
        return {".last_epoch": value.last_epoch}
    if isinstance(value, SCALARS):
        return {"": value}
    if isinstance(value, CONTAINERS):
        kept = [(key, one) for key, one in first_elements(value).items() if isinstance(one, (torch.Tensor, *SCALARS))]
        return {LENGTH: len(elements(value))} | {
            f"[{_text_of(key)}]": found for key, one in kept for found in describe(one).values()
        }
    if isinstance(value, type | types.ModuleType):
        return {}
    if isinstance(value, ITERATORS):
        return {"": Position.of(value)}
    owned = [(name, one) for name, one in own_attributes(value).items() if isinstance(one, torch.Tensor | None)]
    return {f".{name}": None if one is None else TensorMemory.of(one) for name, one in owned}


def _text_of(key: object) -> str:
    """A key as text; that of a tensor would be read from the device."""
    if isinstance(key, tuple):
        return ", ".join(map(_text_of, key))
    return str(key) if isinstance(key, (*SCALARS, torch.dtype, torch.device)) else f"{type(key).__name__} {id(key)}"


def _attribute(owner: object, name: str) -> object:
    """An attribute that is stored, not one that is computed."""
    if isinstance(owner, torch.nn.Module):
        for store in (owner._parameters, owner._buffers, owner._modules):
            if name in store:
                return store[name]
    found = own_attributes(owner)
    if name in found:
        return found[name]
    shared = inspect.getattr_static(owner, name, MISSING)
    if isinstance(shared, types.MemberDescriptorType):  # a slot
        try:
            return shared.__get__(owner)
        except AttributeError:
            return MISSING
    return shared if isinstance(shared, (torch.Tensor, list, dict, set, *SCALARS)) else MISSING
