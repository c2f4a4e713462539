"""An operator with its arguments in; the memory that it touches and what it does with it out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy

from graphlint.runtime.trace.places import Stack

_COPIES = ("aten::copy_", "aten::_to_copy")
_BATCH_NORMS = ("aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm")
_STATISTICS = slice(3, 5)  # of a batch norm: running ones, which it writes in training and does not declare
UNFILLED = ("empty", "new_empty", "_empty")  # begin the operators of aten whose results hold nothing yet
_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_SEQUENCES = (list, tuple)
_SINGLE = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format})


@dataclass(frozen=True, eq=False, slots=True)
class Operator:
    """What is known of an operator before it runs; there is one of these for each.

    `overload` is the schema with the name of the overload. `is_view` says that the result shares the memory of an
    argument that is not written, `draws` that random numbers are drawn; `writes` are the position and the name of each
    argument that is written.
    """

    name: str
    schema: str
    overload: str
    namespace: str
    is_view: bool
    draws: bool
    writes: tuple[tuple[int, str], ...]


@functools.cache
def operator(func: Any) -> Operator:
    """What is known of this one; an operator of a higher order has no schema."""
    schema = getattr(func, "_schema", None)
    aliases = [(number, one) for number, one in enumerate(schema.arguments) if one.alias_info] if schema else []
    return Operator(
        name=str(func),
        schema=str(schema.name) if schema else "",
        overload=f"{schema.name}.{schema.overload_name}" if schema else "",
        namespace=str(func.namespace),
        is_view=any(not one.alias_info.is_write for _, one in aliases),
        draws=torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()),
        writes=tuple((number, str(one.name)) for number, one in aliases if one.alias_info.is_write),
    )


class Call:
    """One call of an operator below autograd; `tensors` are those among the arguments."""

    __slots__ = ("args", "func", "kwargs", "operator", "tensors")

    def __init__(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.operator = operator(func)
        self.tensors = tensors((args, kwargs) if kwargs else args)

    @property
    def name(self) -> str:
        return self.operator.name

    @property
    def schema(self) -> str:
        return self.operator.schema

    def written(self) -> Iterator[torch.Tensor]:
        """The tensors that the operator writes to."""
        for position, name in self.operator.writes:
            yield from tensors(self.args[position] if position < len(self.args) else self.kwargs.get(name))
        if self.schema in _BATCH_NORMS and self.args[5]:
            yield from tensors(self.args[_STATISTICS])

    @property
    def is_copy(self) -> bool:
        return self.schema in _COPIES

    @property
    def is_factory(self) -> bool:
        """Whether the operator is asked for memory, rather than for the results of arithmetic."""
        name = self.schema.removeprefix("aten::")
        is_like_another = name.startswith("new_") or name.endswith("_like") or name == "clone"
        return is_like_another or not self.tensors

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
        if self.operator.is_view or self.schema.removeprefix("aten::").startswith(UNFILLED):
            return False
        return any(tensor.is_cuda and tensor.numel() for tensor in tensors(result))

    def is_download(self, result: object) -> bool:
        """Whether the result is a new tensor of the host."""
        return self.schema == "aten::_to_copy" and not any(one.is_cuda for one in tensors(result))

    @property
    def direction(self) -> str:
        """`upload` or `download` for a copy between host and device, `literal` for a number that is uploaded."""
        lies = [one.is_cuda for one in self.tensors]
        hosts, devices = not all(lies), any(lies)
        if self.schema == "aten::copy_":
            if self.source is None:
                return "literal"
            return "upload" if self.args[0].is_cuda and hosts else "download" if hosts else ""
        target = self.kwargs.get("device")
        if target is not None and lies:
            to_device = torch.device(target).type == "cuda"
            return "upload" if to_device and not devices else "download" if devices and not to_device else ""
        return "upload" if hosts and devices else ""

    @property
    def host_operand(self) -> StorageWeakRef | None:
        """The memory of a tensor of the host with one number that takes part in arithmetic on the device."""
        if self.is_copy or not any(one.is_cuda for one in self.tensors):
            return None
        host = next((one for one in self.tensors if not one.is_cuda and not one.dim()), None)
        return None if host is None else StorageWeakRef(host.untyped_storage())


@dataclass(frozen=True, slots=True)
class Traced:
    """One operator with its results, and the numbers among its arguments."""

    operator: str
    stack: Stack
    numbers: tuple[object, ...]
    results: list[torch.Tensor]


def tensors(tree: object) -> list[torch.Tensor]:
    """The tensors among the arguments or results of an operator, but for parameters without a shape yet."""
    found: list[torch.Tensor] = []
    _gather(tree if type(tree) is tuple else (tree,), found)
    return found


def _gather(values: Iterable[object], found: list[torch.Tensor]) -> None:
    for one in values:
        kind = type(one)
        if kind in _TENSORS:
            found.append(one)
        elif kind in _SINGLE:
            continue
        elif isinstance(one, torch.Tensor):
            if not is_lazy(one):
                found.append(one)
        elif isinstance(one, _SEQUENCES):
            _gather(one, found)
        elif isinstance(one, dict):
            _gather(one.values(), found)


def storage_key(tensor: torch.Tensor) -> int:
    """What identifies the memory of a tensor as long as somebody refers to it weakly; 0 where it has none."""
    if tensor.layout is not torch.strided:
        return 0
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return 0
    return int(storage._cdata) if storage.nbytes() else 0
