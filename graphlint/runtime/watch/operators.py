"""An operator with its arguments in; the memory that it touches and what it does with it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy

_COPIES = ("aten::copy_", "aten::_to_copy")
_BATCH_NORMS = ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm")
_STATISTICS = slice(3, 5)  # of a batch norm: running ones, which it writes in training and does not declare
_UNFILLED = ("aten::empty", "aten::new_empty")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator below autograd."""

    func: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.func)

    @property
    def schema(self) -> str:
        return str(self.func._schema.name)

    def tensors(self) -> Iterator[torch.Tensor]:
        """The tensors among the arguments."""
        yield from tensors((self.args, dict(self.kwargs)))

    def written(self) -> Iterator[torch.Tensor]:
        """The tensors that the operator writes to."""
        for position, argument in enumerate(self.func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                in_place = position < len(self.args)
                yield from tensors(self.args[position] if in_place else self.kwargs.get(argument.name))
        if self.schema in _BATCH_NORMS and self.args[5]:
            yield from tensors(self.args[_STATISTICS])

    @property
    def is_copy(self) -> bool:
        return self.schema in _COPIES

    @property
    def is_view(self) -> bool:
        """Whether the result shares the memory of an argument that is not written."""
        return any(one.alias_info and not one.alias_info.is_write for one in self.func._schema.arguments)

    @property
    def is_factory(self) -> bool:
        """Whether the operator is asked for memory, rather than for the results of arithmetic."""
        name = self.schema.removeprefix("aten::")
        is_like_another = name.startswith("new_") or name.endswith("_like") or name == "clone"
        return is_like_another or next(self.tensors(), None) is None

    @property
    def draws(self) -> bool:
        """Whether random numbers are drawn."""
        return torch.Tag.nondeterministic_seeded in self.func.tags

    @property
    def numbers(self) -> tuple[object, ...]:
        """The numbers among the arguments, which a kernel takes by value."""
        flat = [
            one
            for value in (*self.args, *self.kwargs.values())
            for one in (value if isinstance(value, list | tuple) else [value])
        ]
        return tuple(one for one in flat if isinstance(one, int | float | complex))

    @property
    def source(self) -> torch.Tensor | None:
        """What a copy into a tensor copies."""
        source = self.args[1] if self.schema == "aten::copy_" and len(self.args) > 1 else None
        return source if isinstance(source, torch.Tensor) else None

    def computes(self, result: object) -> bool:
        """Whether something is done on the device, rather than the same memory looked at in another way."""
        if self.is_view or self.schema.startswith(_UNFILLED):
            return False
        return any(tensor.is_cuda and tensor.numel() for tensor in tensors(result))

    def is_download(self, result: object) -> bool:
        """Whether the result is a new tensor of the host."""
        return self.schema == "aten::_to_copy" and not any(one.is_cuda for one in tensors(result))

    @property
    def direction(self) -> str:
        """`upload` or `download` for a copy between host and device, `literal` for a number that is uploaded."""
        given = list(self.tensors())
        hosts, devices = [one for one in given if not one.is_cuda], [one for one in given if one.is_cuda]
        if self.schema == "aten::copy_":
            if self.source is None:
                return "literal"
            return "upload" if self.args[0].is_cuda and hosts else "download" if hosts else ""
        target = self.kwargs.get("device")
        if target is not None and given:
            to_device = torch.device(target).type == "cuda"
            return "upload" if to_device and not devices else "download" if devices and not to_device else ""
        return "upload" if hosts and devices else ""

    @property
    def host_operand(self) -> StorageWeakRef | None:
        """The memory of a tensor of the host with one number that takes part in arithmetic on the device."""
        given = list(self.tensors())
        if self.is_copy or not any(one.is_cuda for one in given):
            return None
        host = next((one for one in given if not one.is_cuda and not one.dim()), None)
        return None if host is None else StorageWeakRef(host.untyped_storage())


def tensors(tree: object) -> Iterator[torch.Tensor]:
    """The tensors among the arguments or results of an operator, but for parameters without a shape yet."""
    if isinstance(tree, torch.Tensor):
        if not is_lazy(tree):
            yield tree
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from tensors(one)
    elif isinstance(tree, dict):
        for one in tree.values():
            yield from tensors(one)


def storage_key(tensor: torch.Tensor) -> int:
    """What identifies the memory of a tensor as long as somebody refers to it weakly; 0 where it has none."""
    if tensor.layout is not torch.strided:
        return 0
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return 0
    return int(storage._cdata) if storage.nbytes() else 0
