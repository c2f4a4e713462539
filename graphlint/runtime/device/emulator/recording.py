"""The operators of a capture in; the same operators on the same memory, again and again, out."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_map

from graphlint.runtime.device.emulator.kernels import compute
from graphlint.runtime.device.emulator.layouts import Build, builder, is_plain, parts
from graphlint.runtime.device.emulator.residence import CPU
from graphlint.runtime.trace.nodes import Node
from graphlint.runtime.trace.operators import Call, operator, storage_key, tensors
from graphlint.runtime.trace.values import content

_state: Any = torch._C.Generator.get_state
_set_state: Any = torch._C.Generator.set_state
_clone: Any = torch.ops.aten.clone.default


@dataclass(eq=False, slots=True)
class Memory:
    """A storage that a graph uses: `size` bytes at `address`, or made by the graph itself if `is_internal`.

    `fresh` stands in for one that nobody holds any more: what the graph makes, during a replay; else from then on.
    """

    storage: StorageWeakRef
    address: int
    size: int
    is_internal: bool
    fresh: Any = None

    def alive(self) -> Any:
        """The storage, if somebody still holds it and it has not moved."""
        found = torch.UntypedStorage._new_with_weak_ptr(self.storage.cdata)
        return found if found is not None and found.data_ptr() == self.address else None


@dataclass(frozen=True, slots=True)
class View:
    """A tensor as a stretch of memory; `memory` is None for one without elements."""

    memory: Memory | None
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def tensor(self) -> torch.Tensor:
        """The tensor now; what was freed or has moved holds nothing that means anything."""
        if self.memory is None:
            return torch.empty_strided(self.size, self.stride, dtype=self.dtype, device=CPU)
        storage = self.memory.alive()
        storage = self.memory.fresh if storage is None else storage
        if storage is None:
            elements = self.memory.size // self.dtype.itemsize
            storage = self.memory.fresh = spoiled(torch.empty(elements, dtype=self.dtype, device=CPU)).untyped_storage()
        return torch.empty(0, dtype=self.dtype, device=CPU).set_(storage, self.offset, self.size, self.stride)


@dataclass(frozen=True, slots=True)
class Assembly:
    """A tensor that is made of several stretches of memory."""

    views: tuple[View, ...]
    build: Build

    def tensor(self) -> torch.Tensor:
        """The tensor now."""
        return self.build([view.tensor() for view in self.views])


@dataclass(frozen=True, slots=True)
class Step:
    """One operator: its arguments with views for tensors, and the views of those parts of results that are new memory.

    Kernels may look at whether gradients are recorded: those of recurrent layers then keep what backward needs.
    """

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[View | None, ...]
    around: Callable[[], contextlib.AbstractContextManager[object]]
    has_grad: bool


@dataclass(eq=False)
class Recording:
    """One capture. `stream` began it; until it ends, `is_open`, and it is valid until something breaks it."""

    stream: int
    mode: str
    pool: tuple[int, int]
    generators: dict[int, Any]  # what it may draw from, by identity
    thread: int
    node: int = -1  # of autograd that was running when it began, by its sequence number
    is_open: bool = True
    is_valid: bool = True
    steps: list[Step | Callable[[], None]] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    _memory: dict[int, Memory] = field(default_factory=dict)
    _before: dict[int, Any] = field(default_factory=dict)  # copies of memory that the capture writes
    _made: list[View] = field(default_factory=list)  # during the capture
    _marks: dict[bytes, torch.Tensor] = field(default_factory=dict)  # states of generators, of one replay
    kept: dict[int, Any] = field(default_factory=dict)  # storages that were in use when the capture ended
    living: ClassVar[weakref.WeakSet[Recording]] = weakref.WeakSet()
    owners: ClassVar[dict[int, tuple[StorageWeakRef, Any]]] = {}  # of storages over the memory of another one

    def __post_init__(self) -> None:
        self.living.add(self)
        self._random = [(source, _state(source)) for source in self.generators.values()]

    def keep(self, call: Call) -> None:
        """An operator is about to run; what it writes is set back at the end, since a capture runs nothing."""
        for tensor in (part for one in call.written() for part in parts(one)):
            memory = self._memory_of(tensor)
            if memory is not None and not memory.is_internal and memory.storage.cdata not in self._before:
                self._before[memory.storage.cdata] = memory, tensor.untyped_storage().clone()

    def add(self, call: Call, result: object, around: Callable[[], Any]) -> None:
        """An operator has run."""
        given = {storage_key(part) for one in call.tensors for part in parts(one)}
        found = [part for one in tensors(result) for part in parts(one)]
        is_new = [bool(key := storage_key(one)) and key not in given for one in found]
        for tensor, new in zip(found, is_new, strict=True):
            if new:
                self._memory_of(tensor, is_internal=True)
        writes = call.is_collective or (not call.operator.is_view and any(True for _ in call.written()))
        is_done = any(is_new) or writes or not found
        if is_done and (call.computes(result) or (call.is_copy and call.direction == "download")):
            self._add_node(call, tensors(result))
        if not any(is_new) and not writes:
            return
        args, kwargs = tree_map(self._argument, (call.args, dict(call.kwargs)))
        results = tuple(self._view(one) if new else None for one, new in zip(found, is_new, strict=True))
        self._made += [view for view in results if view is not None]
        self.steps.append(Step(call.func, args, kwargs, results, around, torch.is_grad_enabled()))

    def adopt(self, tensor: torch.Tensor) -> None:
        """A tensor that C++ has made on the way belongs to the graph, which makes it anew at each replay."""
        memory = self._memory_of(tensor, is_internal=True)
        if memory is not None and memory.is_internal:
            elements = tensor.untyped_storage().nbytes() // tensor.element_size()
            whole = tensor.detach().as_strided((elements,), (1,), 0)  # what is used may be a part of it
            given = (whole.clone(),)
            view = self._view(whole)
            self._made.append(view)
            self.steps.append(Step(_clone, given, {}, (view,), contextlib.nullcontext, has_grad=False))

    @property
    def is_of_this_thread(self) -> bool:
        """Whether the calling thread began the capture."""
        return self.thread == threading.get_ident()

    def launch(self, name: str) -> None:
        """Something ran that is no operator, and that nothing has to be made anew for."""
        self.nodes.append(Node(len(self.nodes), len(self.nodes) + 1, "kernel", name, ()))

    def mark(self, source: Any) -> None:
        """The state of a generator was asked for: to set it back to that means where it was at this step."""
        known = content(_state(source))
        self.steps.append(lambda: self._marks.__setitem__(known, _state(source)))

    def rewind(self, source: Any, state: torch.Tensor) -> None:
        """The state of a generator was set."""
        known = content(state)
        self.steps.append(lambda: _set_state(source, self._marks.get(known, state)))

    def end(self) -> None:
        """The capture is over: what it wrote is as before, and what it made holds nothing yet."""
        self.is_open = False
        for source, state in self._random:
            _set_state(source, state)
        with _below():
            for memory, before in self._before.values():
                storage = memory.alive()
                if storage is not None:
                    storage.copy_(before)
            for view in self._made:
                storage = view.memory.alive() if view.memory is not None else None
                if storage is not None:
                    spoiled(view.tensor())
                    self.kept[storage._cdata] = storage
        self._made.clear()
        self._before.clear()
        self._memory.clear()

    def replay(self) -> None:
        """Run everything again; memory that nobody holds is made anew and let go at the end."""
        made: list[Memory] = []
        with _below(), torch.no_grad():
            for step in self.steps:
                if not isinstance(step, Step):
                    step()
                    continue
                args, kwargs = tree_map(_tensor, (step.args, step.kwargs))
                torch._C._set_grad_enabled(step.has_grad)
                with step.around():
                    made_now = tensors(compute(step.func, args, kwargs))
                    found = [part for one in made_now for part in parts(one)]
                if operator(step.func).is_unfilled:
                    found = [spoiled(one) for one in found]
                for view, tensor in zip(step.results, found, strict=True):
                    if view is None or view.memory is None:
                        continue
                    if view.memory.alive() is None:
                        view.memory.fresh = tensor.untyped_storage()
                        made.append(view.memory)
                    else:
                        view.tensor().copy_(tensor)
        for memory in made:
            memory.fresh = None

    def _argument(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if value.is_cuda or value.is_pinned():
            if is_plain(value):
                return self._view(value)
            return Assembly(tuple(map(self._view, parts(value))), builder(value))
        return value.detach().clone()  # a number of the host goes into the graph by value

    def _view(self, tensor: torch.Tensor) -> View:
        memory = self._memory_of(tensor)
        return View(memory, tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset())

    def _memory_of(self, tensor: torch.Tensor, *, is_internal: bool = False) -> Memory | None:
        key = storage_key(tensor)
        if key and key not in self._memory:
            storage = tensor.untyped_storage()
            _, storage = self.owners.get(storage._cdata, (None, storage))
            address = storage.data_ptr()
            if not address:  # of what torch traces, and never runs
                return None
            self._memory[key] = Memory(StorageWeakRef(storage), address, storage.nbytes(), is_internal)
        return self._memory.get(key)

    def _add_node(self, call: Call, results: list[torch.Tensor]) -> None:
        touched = [one for one in (*call.tensors, *results) if one.is_cuda or one.is_pinned()]
        used = [self._memory_of(part) for one in touched for part in parts(one)]
        words = tuple(memory.address for memory in used if memory is not None and not memory.is_internal)
        self.nodes.append(Node(len(self.nodes), len(self.nodes) + 1, "kernel", call.name, words))


def _tensor(value: Any) -> Any:
    return value.tensor() if isinstance(value, View | Assembly) else value


def spoiled(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, filled with what tells in every result that it was used."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(float("nan"))
    return tensor


@contextlib.contextmanager
def _below() -> Iterator[None]:
    """Inside, operators run on the memory itself: no mode sees them, and autograd does not."""
    with _disable_current_modes(), torch._C._AutoDispatchBelowAutograd():
        yield
