"""A kernel that goes by no dispatcher in, an operator of its name out, as which all that watches a program sees it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from graphlint.runtime.trace.operators import KERNELS

# What it reads and what it writes; a tensor that is in one of them alone is not used in the other way. Then a number,
# by which launches differ that give the kernel other numbers.
_SCHEMA = "(Tensor[] read, *, Tensor(a!)[] written, int launch) -> ()"


@functools.cache
def _library() -> torch.library.Library:
    return torch.library.Library(KERNELS, "FRAGMENT")


def operator_of(kernel: str, bodies: Mapping[str, Callable[..., None]]) -> Any:
    """An operator that is named like a kernel; `bodies` are what it does, by the dispatch key."""
    operators = getattr(torch.ops, KERNELS)
    name = re.sub(r"\W", "_", kernel)
    while hasattr(operators, name):
        name += "_"
    _library().define(name + _SCHEMA)
    for key, body in bodies.items():
        _library().impl(name, body, key)
    return getattr(operators, name)
