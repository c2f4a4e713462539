"""One capture as it is taken down: its operators, the memory they use, and what was refused."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from graphlint.finding import Region, Span
from graphlint.runtime.trace.bindings import Bindings
from graphlint.runtime.trace.extents import Extent
from graphlint.runtime.trace.nodes import Node
from graphlint.runtime.trace.operators import Traced
from graphlint.runtime.trace.optimizers import Stepped
from graphlint.runtime.trace.places import Stack


@dataclass(frozen=True, slots=True)
class Trouble:
    """An effect with the line that has it, and what was seen; `span` is the part of the line, if it is known better.

    It `is_luck` where nothing has gone wrong yet, and `is_own` where it can matter to the region alone, if at all.
    """

    effect: str
    stack: Stack
    said: str = ""
    span: Span | None = None
    is_luck: bool = False
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that a capture does not allow: the operator or call that ran, what was said, and from where.

    `through` are the functions of libraries between the user's line and the operator, innermost first, as
    `module:function`. `direction` is `upload`, `literal` (a number that is uploaded) or `download` where an operator
    copies between host and device.
    """

    operator: str
    said: str
    stack: Stack
    through: tuple[str, ...] = ()
    direction: str = ""
    effect: str = ""
    is_from_driver: bool = False


@dataclass(frozen=True, slots=True)
class CapturedOperator:
    """An operator that ran during a capture, and the nodes that it launched: those from `first` on, before `end`.

    `is_outside` says that it ran on a stream that does not capture, `is_download` that it copies to new memory of the
    host, and `host_operand` is the tensor of the host of which a number went into it by value.
    """

    operator: str
    stack: Stack
    first: int
    end: int
    is_outside: bool = False
    is_download: bool = False
    host_operand: StorageWeakRef | None = None


@dataclass(frozen=True, slots=True)
class Internal:
    """Memory that was allocated during a capture, and the operator that first gave it, which may do nothing else."""

    storage: StorageWeakRef
    stack: Stack
    address: int
    size: int
    operator: str
    is_of_factory: bool


@dataclass(slots=True)
class External:
    """Memory that a graph uses and that was there before its capture.

    `used` is the first operation that does, and `covers` the bytes that operations use.
    """

    storage: StorageWeakRef
    address: int
    size: int
    used: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    is_host: bool
    covers: list[Extent]
    reads: list[int] = field(default_factory=list)  # the operations that do
    writes: list[int] = field(default_factory=list)
    cached: Trouble | None = None  # where a bounded cache owns it
    written_by: str = ""  # the schema of the first operator that writes it

    @property
    def is_written(self) -> bool:
        """Whether the graph writes it."""
        return bool(self.writes)


@dataclass(slots=True)
class Capture:
    """One capture from its begin on; `internals` is memory that was allocated during it, by storage."""

    region: Region
    stack: Stack
    stream: int
    graph: int | None
    mode: str
    bindings: Bindings
    thread: int = field(default_factory=threading.get_ident)
    operations: list[CapturedOperator] = field(default_factory=list)
    decisions: list[Traced] = field(default_factory=list)  # what the host decided about each operator of the device
    externals: dict[int, External] = field(default_factory=dict)
    internals: dict[int, Internal] = field(default_factory=dict)
    asked: list[Stack] = field(default_factory=list)  # lines that asked whether a capture is under way
    released: list[Stack] = field(default_factory=list)  # lines that asked the allocator to release memory
    optimizers: list[Stepped] = field(default_factory=list)
    leaves: dict[int, torch.Tensor] = field(default_factory=dict)  # that need a gradient, until the capture ends
    made: list[weakref.ref[torch.Tensor]] = field(default_factory=list)  # the tensors over `internals`
    made_beside: list[torch.Tensor] = field(default_factory=list)  # in place of what the capture refused
    backward: Stack = ()  # the line that runs autograd
    refusals: list[Refusal] = field(default_factory=list)
    nodes: tuple[Node, ...] = ()
    pool: tuple[int, int] | None = None
    is_healthy: bool = True
    draws: bool = False
    runs_eagerly: bool = False  # a graphed forward whose module was called in another mode
    replays: int = 0

    def relocate(self, inputs: Iterable[torch.Tensor]) -> None:
        """Know external memory by these tensors over it, where a program writes to it by others than it captured."""
        over = {one.untyped_storage().data_ptr(): one.untyped_storage() for one in inputs}
        for key, external in list(self.externals.items()):
            if (storage := over.get(external.address)) is not None:
                external.storage = StorageWeakRef(storage)
                self.externals[storage._cdata] = self.externals.pop(key)

    @property
    def work(self) -> tuple[object, ...]:
        """What it does, on which memory that was there before; equal for two captures of the same."""
        return tuple((one.operator, one.numbers) for one in self.decisions), frozenset(
            one.address for one in self.externals.values()
        )


Tell = Callable[[Capture, Trouble], None]
