"""A value in, how to come by it later out, without keeping alive what it refers to."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from graphlint.runtime.compare.reach import is_atom

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


def remembered(value: Any) -> Recall:
    """Containers are made anew, of the same parts; what cannot be referred to weakly is kept. Raises GoneError."""
    if is_atom(value):
        return lambda: value
    if isinstance(value, types.MethodType):
        owner, function = remembered(value.__self__), value.__func__
        return lambda: types.MethodType(function, owner())
    if type(value) is dict:
        items = {key: remembered(one) for key, one in value.items()}
        return lambda: {key: recall() for key, recall in items.items()}
    if type(value) in (list, tuple):
        parts, kind = [remembered(one) for one in value], type(value)
        return lambda: kind(recall() for recall in parts)
    try:
        return _recall(weakly(value))
    except TypeError:
        return lambda: value


def _recall(reference: weakref.ref[Any]) -> Recall:
    def recall() -> Any:
        found = reference()
        if found is None:
            raise GoneError
        return found

    return recall
