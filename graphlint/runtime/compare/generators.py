"""A random generator in, of PyTorch, Python or NumPy; its state out, and back."""

from __future__ import annotations

import copy
import random
import sys
from typing import Any

import torch

from graphlint.runtime.trace.values import module_of


def default_sources() -> dict[str, Any]:
    """The random generators that a program uses without naming them."""
    found = {"random": random, "torch.default_generator": torch.default_generator}
    if torch.cuda.is_initialized():
        devices = enumerate(torch.cuda.default_generators)
        found |= {f"torch.cuda.default_generators[{device}]": generator for device, generator in devices}
    if "numpy.random" in sys.modules:
        found["numpy.random"] = sys.modules["numpy.random"]
    return found


def is_source(value: object) -> bool:
    if isinstance(value, random.SystemRandom):
        return False  # the system's entropy has no state
    numpy = module_of(type(value)).startswith("numpy.random.")
    return isinstance(value, (torch.Generator, random.Random)) or (numpy and hasattr(value, "random"))


def random_state(source: Any) -> Any:
    if hasattr(source, "get_state"):
        return source.get_state()
    return source.getstate() if hasattr(source, "getstate") else copy.deepcopy(source.bit_generator.state)


def set_random_state(source: Any, state: Any) -> None:
    if hasattr(source, "set_state"):
        source.set_state(state)
    elif hasattr(source, "setstate"):
        source.setstate(state)
    else:
        source.bit_generator.state = state


def reseed(by: int = 1) -> None:
    """Let generators of torch draw other numbers."""
    for source in default_sources().values():
        if isinstance(source, torch.Generator):
            source.manual_seed(source.initial_seed() + by)
