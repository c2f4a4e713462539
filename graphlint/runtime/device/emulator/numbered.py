"""Functions of torch that take a device in, the same functions that take its number as well out.

Where C++ finds no accelerator, a number names no device: `device=torch.cuda.current_device()`, `model.to(rank)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._device import _device_constructors

_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_NEW = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")


def named(device: Any) -> Any:
    """A device, where it is given by its number."""
    return torch.device("cuda", device) if type(device) is int else device


@functools.cache
def functions() -> tuple[tuple[Any, str], ...]:
    """The owner and the name of each function of C++ that makes tensors on a device."""
    known = sorted(one.__name__ for one in _device_constructors() if vars(torch).get(one.__name__) is one)
    return *((torch, name) for name in (*known, *_LIKE)), *((torch.Tensor, name) for name in _NEW)


def patches() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """What stands in place of what: the owner, the name, the stand-in."""
    yield from ((owner, name, _taking_numbers(getattr(owner, name))) for owner, name in functions())
    yield torch._C._nn, "_parse_to", _parsing(torch._C._nn._parse_to)


def _taking_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if "device" in kwargs:
            kwargs["device"] = named(kwargs["device"])
        return function(*args, **kwargs)

    return made


def _parsing(parse: Callable[..., Any]) -> Callable[..., Any]:
    """What reads the arguments of `torch.nn.Module.to`, of which the first may be a device."""

    @functools.wraps(parse)
    def parsed(*args: Any, **kwargs: Any) -> Any:
        return parse(*map(named, args), **kwargs)

    return parsed
