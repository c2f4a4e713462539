"""Torch's trees of CUDA graphs in; which functions they run in graphs, and which outputs are used too late, out."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from graphlint.runtime.trace.frames import running
from graphlint.runtime.trace.operators import Call, storage_key, tensors
from graphlint.runtime.trace.places import Stack, caller_stack
from graphlint.runtime.watch.openings import COMPILED, Openings
from graphlint.runtime.watch.standins import patched

_HOW = {"run_eager": "warm_ups", "record_function": "recorded", "execute_node": "replayed"}  # a function runs


@dataclass
class Graphed:
    """A compiled function that is to run in graphs, how often it ran how, and from where: first, and last."""

    stack: Stack
    last: Stack = ()
    runs: int = 0
    warm_ups: int = 0
    recorded: int = 0
    replayed: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """Memory of an output that a later run has taken, its tensor, and the line that it was given to."""

    tensor: Callable[[], torch.Tensor | None]
    storage: StorageWeakRef
    stack: Stack


def outside(stack: Stack) -> Stack:
    """From the line that calls a compiled function on: what runs in place of its code has no lines of its own."""
    compiled: Any = importlib.import_module("torch._dynamo.utils").orig_code_map
    return tuple(itertools.dropwhile(lambda place: place.code in compiled, stack))


class Trees:
    """Follows trees by their own methods; `replayed` is told of outputs, `late` of one that is used when it is lost."""

    def __init__(self, openings: Openings) -> None:
        self.openings = openings
        self.is_followed = False
        self.running = 0  # functions, one inside of the other where a tree begins anew
        self._makes_pool: object = None  # the code that does, by a capture of nothing
        self.inputs: list[torch.Tensor] = []  # what replays copy the arguments of the function to that is recorded now
        self.functions: dict[tuple[int, object], Graphed] = {}
        self.replayed: list[Callable[[Any, list[torch.Tensor]], None]] = []
        self.late: list[Callable[[Output], None]] = []
        self._lost: list[Output] = []

    @property
    def is_making_pool(self) -> bool:
        """Whether a capture is one of nothing, which keeps the pool of a tree."""
        return self.is_followed and any(frame.f_code is self._makes_pool for frame in running())

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Inside, trees are followed."""
        self.is_followed = True
        trees: Any = importlib.import_module("torch._inductor.cudagraph_trees")
        manager, node = trees.CUDAGraphTreeManager, trees.CUDAGraphNode
        self._makes_pool = manager.__init__.__code__
        patches = [
            (manager, "_run", self._running(manager._run)),
            (manager, "dealloc_current_path_weakrefs", self._losing(manager.dealloc_current_path_weakrefs)),
            (node, "_record", self.openings.noting(COMPILED, self._recording(node._record))),
            *((manager, name, self._counting(getattr(manager, name), count)) for name, count in _HOW.items()),
        ]
        with patched(patches):
            yield

    def uses(self, call: Call) -> None:
        """An operator is about to run."""
        for tensor in call.tensors if self._lost else ():
            key = storage_key(tensor)
            found = next((one for one in self._lost if one.tensor() is tensor or one.storage.cdata == key), None)
            if found is not None:
                self._lost.remove(found)
                for told in self.late:
                    told(found)

    def _recording(self, record: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(record)
        def recorded(node: Any, *args: Any) -> Any:
            self.inputs = tensors(tuple(node.reconstructed_inputs[index] for index in node.non_static_input_idx))
            try:
                return record(node, *args)
            finally:
                self.inputs = []

        return recorded

    def _running(self, run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def ran(manager: Any, inputs: Any, function: Any) -> Any:
            stack = outside(caller_stack())
            graphed = self.functions.setdefault((id(manager), function), Graphed(stack))
            graphed.runs += 1
            self.running += 1
            try:
                outputs = run(manager, inputs, function)
            finally:
                self.running -= 1
            graphed.last = stack
            return outputs

        return ran

    def _counting(self, run: Callable[..., Any], count: str) -> Callable[..., Any]:
        @functools.wraps(run)
        def counted(manager: Any, first: Any, second: Any) -> Any:
            is_replay = count == "replayed"
            function = first.wrapped_function.id if is_replay else second
            outputs = run(manager, first, second)
            graphed = self.functions[id(manager), function]
            setattr(graphed, count, getattr(graphed, count) + 1)
            for told in self.replayed if is_replay else ():
                told(first.graph, tensors(tuple(outputs)))
            return outputs

        return counted

    def _losing(self, lose: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(lose)
        def lost(manager: Any) -> None:
            self._lost = [one for one in self._lost if one.tensor() is not None or not one.storage.expired()]
            for node in manager.current_node._path_from_root:
                graphed = self.functions.get((id(manager), node.wrapped_function.id))
                for tensor, memory in zip(node.tensor_weakrefs, node.outputs_weakrefs, strict=False):
                    storage = memory and memory() and torch.UntypedStorage._new_with_weak_ptr(memory())
                    if storage is not None:
                        stack = graphed.last if graphed is not None else ()
                        self._lost.append(Output(tensor, StorageWeakRef(storage), stack))
            lose(manager)

        return lost
