"""A kind of work in, what a capture of it holds and what its operators were given out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from graphlint.runtime.device.cuda.driver import Driver
from graphlint.runtime.device.cuda.memory import MemorySnapshot
from graphlint.runtime.device.cuda.nodes import handles, walk
from graphlint.runtime.trace.nodes import Node

Step = Callable[[], object]


class Given(NamedTuple):
    """A device storage of `size` bytes that an operator was given, or that it gave back."""

    operator: str
    name: str  # of the argument or of the result
    address: int
    size: int

    def is_met_by(self, words: Collection[int]) -> bool:
        """Whether one of the words points into it."""
        return any(self.address <= word < self.address + self.size for word in words)


@dataclass(frozen=True)
class Kind:
    """Work that a graph can hold.

    `prepare` makes the tensors and gives the step; the graph has to lead to what the step returns, and to what its
    operators are given. `unread` says why an operator is given something that it does not touch: by operator and name.
    `kinds` are nodes that the graph holds, and `kernels` begin the names of its kernels. `varies` says why two captures
    cannot be compared.
    """

    name: str
    prepare: Callable[[], Step]
    unread: dict[tuple[str, str], str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("kernel",)
    kernels: tuple[str, ...] = ()
    varies: str = ""


@dataclass(frozen=True)
class Launch:
    """An operator that created nodes: how many there were before, where the new ones stand, and what it was given."""

    before: int
    positions: tuple[int, ...]
    given: tuple[Given, ...]


@dataclass(frozen=True)
class Taken:
    """What one capture held; `later` is its nodes after its end, None where torch does not hand out the graph."""

    nodes: tuple[Node, ...]
    later: tuple[Node, ...] | None
    memory: MemorySnapshot
    launches: tuple[Launch, ...]
    returned: tuple[Given, ...]
    kept: object  # the graph and what keeps its memory


class Launches(TorchDispatchMode):
    """Takes down the operators that create nodes."""

    def __init__(self, driver: Driver, graph: int) -> None:
        super().__init__()
        self.driver, self.graph = driver, graph
        self.seen: list[Launch] = []

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Compiled functions run as they do without this mode."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> object:
        before = set(handles(self.driver, self.graph))
        result = func(*args, **(kwargs or {}))
        after = handles(self.driver, self.graph)
        if len(after) > len(before):
            positions = tuple(index for index, handle in enumerate(after) if handle not in before)
            self.seen.append(Launch(len(before), positions, tuple(_given(func, args, kwargs or {}, result))))
        return result


def storages(operator: str, name: str, tree: object) -> Iterator[Given]:
    """Every device storage in a tree."""
    for tensor in tree_leaves(tree):
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda and tensor.untyped_storage().nbytes():
            storage = tensor.untyped_storage()
            yield Given(operator, name, storage.data_ptr(), storage.nbytes())


def _given(func: Any, args: Any, kwargs: Any, result: Any) -> Iterator[Given]:
    """The storages among the arguments and results of an operator, by the names in its schema."""
    arguments, returns = [[one.name for one in part] for part in (func._schema.arguments, func._schema.returns)]
    results = result if len(returns) > 1 else [result] * len(returns)
    for name, value in [
        *zip(arguments, args, strict=False),
        *kwargs.items(),
        *zip(returns, results or (), strict=True),
    ]:
        yield from storages(str(func), name or "result", value)


def take(driver: Driver, kind: Kind) -> Taken:
    """Warm a kind up and capture it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        step = kind.prepare()
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    has_handle = hasattr(torch.cuda.CUDAGraph, "raw_cuda_graph")
    graph = torch.cuda.CUDAGraph(keep_graph=True) if has_handle else torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), stream=stream, capture_error_mode="thread_local"):
        handle = driver.capture_graph(stream.cuda_stream)
        assert handle is not None
        with Launches(driver, handle) as launches:
            result = step()
        nodes = walk(driver, handle)
    returned = tuple(storages("step", "result", result))
    later = walk(driver, graph.raw_cuda_graph()) if has_handle else None
    return Taken(nodes, later, MemorySnapshot.now(), tuple(launches.seen), returned, (graph, step, result))
