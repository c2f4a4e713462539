"""An object of a running program in, what is known of it out: in the kinds of values that both halves share."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from collections.abc import Mapping as Attributes
from types import ModuleType

import torch

from graphlint.finding import Confidence
from graphlint.runtime.trace.containers import first_elements
from graphlint.values import Const, DeviceName, External, ExternalObject, Host, Mapping, Place, Sequence, Tensor, Value

DEPTH = 3  # of containers in containers
CONSTANTS = (bool, int, float, complex, str, type(None))
CHOICES = (torch.dtype, torch.layout, torch.memory_format)  # that torch has names for
_SEQUENCES = {list: "list", tuple: "tuple", set: "set", frozenset: "set"}

IsFresh = Callable[[torch.Tensor], bool]


def content(state: torch.Tensor) -> bytes:
    """What stands in the memory of a plain tensor of the host; without NumPy, which does not come with torch."""
    return ctypes.string_at(state.data_ptr(), state.nbytes)


def known(thing: object, is_fresh: IsFresh, depth: int = DEPTH) -> Value:
    """What is known of an object; of one that is none of these kinds, its class."""
    if isinstance(thing, torch.Tensor):
        return _tensor(thing, is_fresh)
    if isinstance(thing, CONSTANTS):
        return Const(thing)
    if isinstance(thing, torch.device):
        return DeviceName(Place.DEVICE if thing.type == "cuda" else Place.HOST)
    if isinstance(thing, CHOICES):
        return External(str(thing))
    if is_named(thing):
        return External(qualified(thing))
    if depth and isinstance(thing, dict):
        items = first_elements(thing).items()
        return Mapping(tuple((known(k, is_fresh, 0), known(v, is_fresh, depth - 1)) for k, v in items))
    for cls, kind in _SEQUENCES.items():
        if depth and isinstance(thing, cls):
            return Sequence(kind, tuple(known(one, is_fresh, depth - 1) for one in first_elements(thing).values()))
    if hasattr(type(thing), "__array_interface__"):
        return Host("array")
    return ExternalObject(qualified(type(thing)))


def is_named(thing: object) -> bool:
    """Whether it is known by the name that it is imported by."""
    return isinstance(thing, type | ModuleType) or inspect.isroutine(thing)


def qualified(thing: object) -> str:
    """The name by which a module, class or function is imported, as far as it knows that."""
    name = str(getattr(thing, "__qualname__", getattr(thing, "__name__", "")))
    module = getattr(thing, "__module__", None)
    return f"{module}.{name}" if module else name


def dtype_name(dtype: torch.dtype) -> str:
    """As tables and reports have it."""
    return str(dtype).removeprefix("torch.")


def own_attributes(owner: object) -> Attributes[str, object]:
    """What is stored in an object, without asking its class for it, which may run any code."""
    try:
        found: Attributes[str, object] = object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}
    return found


def module_of(kind: type) -> str:
    """The module that a class names as its own; classes of some compilers of extensions have no text there."""
    module = kind.__module__
    return module if isinstance(module, str) else ""


def _tensor(tensor: torch.Tensor, is_fresh: IsFresh) -> Tensor:
    return Tensor(
        place=Place.DEVICE if tensor.is_cuda else Place.HOST,
        ndim=tensor.dim(),
        dtype=dtype_name(tensor.dtype),
        sure=Confidence.HIGH,
        pinned=not tensor.is_cuda and tensor.is_pinned(),
        fresh=is_fresh(tensor),
    )
