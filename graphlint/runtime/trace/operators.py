"""An operator with its arguments in; the memory that it touches and what it does with it out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nn.parameter import is_lazy

from graphlint.rulebook import builtin_catalogue
from graphlint.runtime.trace.containers import elements
from graphlint.runtime.trace.places import Stack

COLLECTIVE = "c10d"  # the namespace of what several ranks run together
KERNELS = "triton_kernels"  # and of what goes by no operator of its own
_COPIES = ("aten::copy_", "aten::_to_copy")
_STATISTICS = slice(3, 5)  # of a batch norm: running ones, which it writes in training and does not declare
_TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
_SINGLE = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format})


@dataclass(frozen=True, eq=False, slots=True)
class Operator:
    """What is known of an operator before it runs; there is one of these for each.

    `is_view` says that the result is memory of an argument, looked at in another way, `is_in_place` that it is the
    first argument, which is written, `is_unfilled` that it holds nothing yet, `is_shaped_like` that it takes sizes and
    types of its arguments alone, `gives_nothing` that there is none; `draws` that random numbers are drawn; `writes`
    are the position and the name of each argument that is written, but for the running statistics of a batch norm,
    which `has_statistics`, and `overwrites` those of them that are not read before.
    """

    name: str
    schema: str
    namespace: str
    is_view: bool
    is_in_place: bool
    is_unfilled: bool
    is_shaped_like: bool
    has_statistics: bool
    gives_nothing: bool
    draws: bool
    writes: tuple[tuple[int, str], ...]
    overwrites: tuple[tuple[int, str], ...]
    dropout: tuple[int, str] | None  # the argument without which it draws nothing


@functools.cache
def operator(func: Any) -> Operator:
    """What is known of this one; an operator of a higher order has no schema."""
    # The built-in catalogue: this is known once for all sessions of a process, before any of them brings its rules.
    families = builtin_catalogue().families
    schema: Any = getattr(func, "_schema", None)
    tags = getattr(func, "tags", ())
    arguments = list(enumerate(schema.arguments)) if schema else []
    aliases = [(number, one) for number, one in arguments if one.alias_info]
    written = [(number, one) for number, one in aliases if one.alias_info.is_write]
    if schema and schema.name in families["receiving"]:
        written = arguments[:1]
    is_replaced = bool(schema) and schema.name in families["overwriting"]
    return Operator(
        name=str(func),
        schema=str(schema.name) if schema else "",
        namespace=str(func.namespace),
        is_view=any(not one.alias_info.is_write for _, one in aliases) or torch.Tag.inplace_view in tags,
        is_in_place=_is_in_place(schema) if schema else False,
        is_unfilled=bool(schema) and schema.name in families["unfilled"],
        is_shaped_like=bool(schema) and schema.name in families["shaped-like"],
        has_statistics=bool(schema) and schema.name in families["batch-norms"],
        gives_nothing=bool(schema) and not schema.returns,
        draws=torch.Tag.nondeterministic_seeded in tags,
        writes=tuple((number, str(one.name)) for number, one in written),
        overwrites=tuple((number, str(one.name)) for number, one in written if is_replaced or one.kwarg_only),
        dropout=next(((number, one.name) for number, one in arguments if one.name == "dropout_p"), None),
    )


def _is_in_place(schema: Any) -> bool:
    """Whether an operator writes its first argument and gives it back."""
    first = schema.arguments[0].alias_info if schema.arguments else None
    given_back = schema.returns[0].alias_info if schema.returns else None
    return bool(first and first.is_write and given_back and given_back.before_set == first.before_set)


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

    @property
    def used(self) -> list[torch.Tensor]:
        """The tensors among the arguments whose memory the operator reads or writes."""
        return [] if self.operator.is_shaped_like else self.tensors

    def written(self) -> Iterator[torch.Tensor]:
        """The tensors that the operator writes to."""
        yield from self._given(self.operator.writes)
        if self.operator.has_statistics and self.args[5]:
            yield from tensors(self.args[_STATISTICS])

    def overwritten(self) -> Iterator[torch.Tensor]:
        """Those of them whose old content is lost unread."""
        return self._given(self.operator.overwrites)

    def _given(self, arguments: Iterable[tuple[int, str]]) -> Iterator[torch.Tensor]:
        for position, name in arguments:
            yield from tensors(self.args[position] if position < len(self.args) else self.kwargs.get(name))

    @property
    def draws(self) -> bool:
        """Whether the operator draws random numbers: one that could drop some need not be asked to."""
        if self.operator.dropout is None:
            return self.operator.draws
        position, name = self.operator.dropout
        return self.operator.draws and bool(self.args[position] if position < len(self.args) else self.kwargs.get(name))

    @property
    def is_copy(self) -> bool:
        return self.schema in _COPIES

    @property
    def is_collective(self) -> bool:
        """Whether several ranks run it together."""
        return self.operator.namespace == COLLECTIVE

    @property
    def is_factory(self) -> bool:
        """Whether the operator is asked for memory, rather than for the results of arithmetic."""
        return self.operator.is_shaped_like or self.schema == "aten::clone" or not self.tensors

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

    @property
    def copies_itself(self) -> bool:
        """Whether a tensor is copied into itself, which nothing has to be done for."""
        source = self.source
        if source is None or not storage_key(source) or storage_key(source) != storage_key(self.args[0]):
            return False
        source_place, place = (
            (one.storage_offset(), one.shape, one.stride(), one.dtype) for one in (source, self.args[0])
        )
        return bool(source_place == place)

    def computes(self, result: object) -> bool:
        """Whether something is done on the device, rather than the same memory looked at in another way."""
        if self.operator.is_view or self.operator.is_unfilled or self.copies_itself:
            return False
        gives_nothing = self.operator.gives_nothing or self.is_collective
        touched = tensors(result) or list(self.written()) or (self.tensors if gives_nothing else [])
        return any(tensor.is_cuda and tensor.numel() for tensor in touched)

    def is_download(self, result: object) -> bool:
        """Whether the result is a new tensor of the host."""
        return self.schema == "aten::_to_copy" and not any(one.is_cuda for one in tensors(result))

    @property
    def is_asynchronous(self) -> bool:
        """Whether a copy asks not to be waited for."""
        return bool(self.kwargs.get("non_blocking") or (self.schema == "aten::copy_" and self.args[2:3] == (True,)))

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
    """One operator with its results, and the numbers among its arguments; what `is_unfilled` holds nothing yet.

    It `draws` random numbers.
    """

    operator: str
    stack: Stack
    numbers: tuple[object, ...]
    results: list[torch.Tensor]
    is_unfilled: bool = False
    draws: bool = False


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
        elif isinstance(one, (list, tuple, dict)):
            _gather(elements(one), found)


def storage_key(tensor: torch.Tensor) -> int:
    """What identifies the memory of a tensor as long as somebody refers to it weakly; 0 where it has none."""
    if tensor.layout is not torch.strided:
        return 0
    try:
        storage = tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return 0
    return int(storage._cdata) if storage.nbytes() else 0
