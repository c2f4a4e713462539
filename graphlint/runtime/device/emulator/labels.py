"""Tensors that torch traces in; inside, they name a processor that C++ can go backward on, and then the GPU again.

Autograd goes backward on the streams of an accelerator, of which C++ finds none. So what would lie on the GPU lies on
`cpu:0` while a graph with a backward pass is traced, and what lies on the host on `cpu`, as it does otherwise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx import GraphModule
from torch.utils._pytree import tree_map

from graphlint.runtime.device.emulator.residence import CUDA

_STANDS_IN = torch.device("cpu", 0)
_new: Any = FakeTensor.__new__


def goes_backward(examples: Iterable[object]) -> bool:
    """Whether a graph of these arguments gets a backward pass."""
    return torch.is_grad_enabled() and any(isinstance(one, torch.Tensor) and one.requires_grad for one in examples)


def is_hiding() -> bool:
    """Whether what is traced now does not name the GPU."""
    return FakeTensor.__new__ is not _new


@contextlib.contextmanager
def hidden(examples: Iterable[object]) -> Iterator[None]:
    """Inside, no tensor that is traced names the GPU."""

    def made(cls: type[FakeTensor], mode: Any, elem: Any, device: Any, *args: Any, **kwargs: Any) -> Any:
        return _new(cls, mode, elem, _hide(device), *args, **kwargs)

    known = [(one, one.fake_device) for one in examples if isinstance(one, FakeTensor)]
    FakeTensor.__new__ = made
    try:
        for tensor, device in known:
            tensor.fake_device = _hide(device)
        yield
    finally:
        FakeTensor.__new__ = _new
        for tensor, device in known:
            tensor.fake_device = device


def name_again(module: GraphModule) -> None:
    """What was traced names the GPU where it would lie there."""
    for node in module.graph.nodes:
        node.args, node.kwargs = tree_map(_name, node.args), tree_map(_name, node.kwargs)
        tree_map(_relabel, node.meta.get("val"))


def _hide(device: Any) -> torch.device:
    return _STANDS_IN if torch.device(device).type == "cuda" else torch.device(device)


def _name(value: object) -> object:
    return CUDA if value == _STANDS_IN and isinstance(value, torch.device) else value


def _relabel(value: object) -> None:
    if isinstance(value, FakeTensor) and value.fake_device == _STANDS_IN:
        value.fake_device = CUDA
