"""A value in, how to come by it later out, or by one made like it, without keeping alive what it refers to."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy

from graphlint.runtime.compare.reach import is_atom

_DEPTH = 3  # of objects in each other that may be made anew
_FEW = 64  # attributes, and elements of what they hold

Recall = Callable[[], Any]
T = TypeVar("T")


class GoneError(Exception):
    """Nobody holds it any more."""


def weakly(value: T) -> weakref.ref[T]:
    """A weak reference. Raises TypeError for what has none.

    Streams and events of CUDA count among it: with torch 2.11 a reference outlives them, points to whatever is in their
    place by then, and collecting it may end the process by SIGSEGV (measured on an H200).
    """
    if isinstance(value, (torch.Stream, torch.Event)):
        raise TypeError(f"weak references to a {type(value).__name__} are not safe")
    return weakref.ref(value)


def remembered(value: Any, depth: int = _DEPTH) -> Recall:
    """Containers are made anew, of the same parts; what cannot be referred to weakly is kept. Raises GoneError.

    What is gone is made anew where its parts are not: a view of memory that somebody holds, a function, a plain object.
    """
    if is_atom(value):
        return lambda: value
    if isinstance(value, types.MethodType):
        owner, function = remembered(value.__self__, depth), value.__func__
        return lambda: types.MethodType(function, owner())
    if type(value) is dict:
        items = {key: remembered(one, depth) for key, one in value.items()}
        return lambda: {key: recall() for key, recall in items.items()}
    if type(value) in (list, tuple):
        parts, kind = [remembered(one, depth) for one in value], type(value)
        return lambda: kind(recall() for recall in parts)
    try:
        return _Referred(weakly(value), _maker(value, depth - 1))
    except TypeError:
        return lambda: value


class _Referred:
    """What a weak reference leads to, or what is made in its place: one for all who ask, while somebody holds it."""

    def __init__(self, reference: weakref.ref[Any], make: Recall | None) -> None:
        self._reference = reference
        self._make = make

    def __call__(self) -> Any:
        found = self._reference()
        if found is None:
            if self._make is None:
                raise GoneError
            found = self._make()
            self._reference = weakref.ref(found)
        return found


def _maker(value: Any, depth: int) -> Recall | None:
    """How to make something in place of it, if that can be done without running its code."""
    if isinstance(value, torch.Tensor):
        return _view(value)
    if depth and type(value) is types.FunctionType and value.__closure__:
        return _function(value, depth)
    if depth and _is_plain(value):
        attributes, kind = remembered({**vars(value)}, depth), type(value)

        def made() -> Any:
            found = object.__new__(kind)
            vars(found).update(attributes())
            return found

        return made
    return None


def _view(tensor: torch.Tensor) -> Recall | None:
    """Over the same memory; none of a kind of its own, and none that a gradient leads through."""
    if (
        type(tensor) is not torch.Tensor
        or tensor.requires_grad
        or tensor.layout is not torch.strided
        or is_lazy(tensor)
    ):
        return None
    try:
        memory = StorageWeakRef(tensor.untyped_storage())
    except (NotImplementedError, RuntimeError):
        return None
    place, like = (tensor.storage_offset(), tensor.size(), tensor.stride()), (tensor.dtype, tensor.device)

    def made() -> torch.Tensor:
        storage = torch.UntypedStorage._new_with_weak_ptr(memory.cdata)
        if storage is None:
            raise GoneError
        return torch.empty(0, dtype=like[0], device=like[1]).set_(storage, *place)

    return made


def _function(function: types.FunctionType, depth: int) -> Recall | None:
    try:
        contents = [remembered(cell.cell_contents, depth) for cell in function.__closure__ or ()]
    except ValueError:  # a variable that has no value yet
        return None
    code, space, name = function.__code__, function.__globals__, function.__name__
    defaults, keywords = remembered(function.__defaults__, depth), remembered(function.__kwdefaults__, depth)

    def made() -> types.FunctionType:
        closure = tuple(types.CellType(recall()) for recall in contents)
        found = types.FunctionType(code, space, name, defaults(), closure)
        found.__kwdefaults__ = keywords()
        return found

    return made


def _is_plain(value: Any) -> bool:
    """Whether an object is no more than its attributes, and those are few and short."""
    kind, attributes = type(value), getattr(value, "__dict__", {})
    is_of_own = any(vars(base).keys() & {"__new__", "__del__", "__slots__"} for base in kind.__mro__[:-1])
    is_short = all(len(one) <= _FEW for one in (attributes, *attributes.values()) if type(one) in (dict, list, tuple))
    return not is_of_own and is_short and not isinstance(value, torch.nn.Module)
