"""A capture in; memory and streams that its nodes use in a wrong way, by operator and line, out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

import torch

from graphlint.contract import tensor_type
from graphlint.runtime.device.cuda.memory import MemorySnapshot
from graphlint.runtime.trace.capture import Capture, CapturedOperator, External, Trouble
from graphlint.runtime.trace.nodes import Node, flatten
from graphlint.runtime.trace.values import dtype_name


def outside_graph(capture: Capture) -> Iterator[Trouble]:
    """Work that was done once, during the capture, and that no replay does again."""
    for operation in capture.operations:
        if operation.is_outside:
            yield Trouble(
                "work-outside-graph", operation.stack, f"{operation.operator} ran on a stream that does not capture"
            )


def after_capture(capture: Capture) -> Iterator[Trouble]:
    """What can be told once a capture has ended well."""
    if not capture.nodes and not any(operation.is_outside for operation in capture.operations):
        yield Trouble("empty-graph", capture.stack, "the graph has no nodes")
    for operation in capture.operations:
        if operation.is_outside:
            continue
        if operation.is_download:
            yield Trouble("stale-readback", operation.stack)
        elif operation.host_operand is not None and not operation.host_operand.expired():
            yield Trouble("frozen-host-operand", operation.stack)
    for internal in capture.internals.values():
        if internal.is_of_factory:
            yield Trouble("region-allocation", internal.stack, internal.operator)


def before_replay(capture: Capture, living_pools: Callable[[], Collection[object]]) -> Iterator[Trouble]:
    """Memory that the graph is about to use and that is gone, or has moved, since it was captured.

    What lies in the pool of a living graph is given to nobody but later captures of that pool (see `Kept`).
    """
    for external in capture.externals.values():
        operation = capture.operations[external.used]
        if external.storage.expired():
            if not _is_used(capture, operation, external) or _lies_in(living_pools(), external):
                continue
            said = f"{operation.operator} uses {_shown(external)}, which was freed"
            effect = "pinned-source" if external.is_host else "freed-memory"
            yield replace(external.cached or Trouble(effect, operation.stack), said=said, is_luck=False)
        elif (address := _address(external)) != external.address and _is_used(capture, operation, external):
            yield Trouble("moved-tensor", operation.stack, f"{_shown(external)} lies at {address:#x} now")


def nodes_of(capture: Capture, operation: CapturedOperator) -> Iterator[Node]:
    """The nodes that an operator launched, those of child graphs included."""
    return flatten(capture.nodes[operation.first : operation.end])


def _lies_in(pools: Collection[object], external: External) -> bool:
    """Whether torch's allocator has it in one of these pools."""
    block = MemorySnapshot.now().find(external.address) if pools and not external.is_host else None
    return block is not None and block.pool in pools


def _is_used(capture: Capture, operation: CapturedOperator, external: External) -> bool:
    """Whether a node of the operator holds an address inside the memory; an operator may look at a shape alone."""
    last = external.address + external.size
    nodes = list(nodes_of(capture, operation))
    is_named = any(external.address <= word < last for node in nodes for word in node.words)
    return is_named or not (external.is_host or all(node.is_legible for node in nodes))


def _address(external: External) -> int:
    storage = torch.UntypedStorage._new_with_weak_ptr(external.storage.cdata)
    return external.address if storage is None else int(storage.data_ptr())


def _shown(external: External) -> str:
    return f"{tensor_type(dtype_name(external.dtype), external.shape)} at {external.address:#x}"
