"""A traced graph in, the same out with what the lowering of Inductor does in another way than its operators say.

A mask that is assigned one value becomes a choice between two, and a number that is known becomes part of a kernel;
neither asks the host for anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node
from torch.utils._mode_utils import no_dispatch

from graphlint.runtime.device.emulator.partitions import devices
from graphlint.runtime.device.emulator.residence import CPU, CUDA

_aten = torch.ops.aten
_ASSIGNMENTS = (_aten.index_put.default, _aten._unsafe_index_put.default)
_MASKS = (torch.bool, torch.uint8)
_INLINED = 8  # elements of a constant, at most
_COPIES = (_aten.lift_fresh_copy.default, _aten.clone.default, _aten.alias.default, _aten.detach.default)


def lower(module: GraphModule) -> None:
    """Change a graph in place; nodes that are new have no value yet."""
    for node in module.graph.nodes:
        if node.target in _ASSIGNMENTS and _is_fill(*node.args):
            _choose(node, *node.args)
    for node, constant in list(_constants(module)):
        _inline(node, constant)
    module.graph.eliminate_dead_code()


def _is_fill(_into: Node, indices: list[Node | None], value: Node, _accumulates: bool = False) -> bool:
    mask = indices[0]
    return (
        len(indices) == 1 and mask is not None and mask.meta["val"].dtype in _MASKS and value.meta["val"].numel() == 1
    )


def _choose(node: Node, into: Node, indices: list[Node], value: Node, accumulates: bool = False) -> None:
    """Where the mask holds, the value; elsewhere, what was there."""
    graph, mask = node.graph, indices[0]
    known = mask.meta["val"]
    with graph.inserting_before(node):
        if known.dtype is not torch.bool:
            mask = graph.call_function(_aten.ne.Scalar, (mask, 0))
        for _ in range(into.meta["val"].dim() - known.dim()):
            mask = graph.call_function(_aten.unsqueeze.default, (mask, -1))
        if value.meta["val"].dim():
            value = graph.call_function(_aten.view.default, (value, []))
        if accumulates:
            value = graph.call_function(_aten.add.Tensor, (into, value))
        chosen = graph.call_function(_aten.where.self, (mask, value, into))
    chosen.meta = node.meta
    node.replace_all_uses_with(chosen)
    graph.erase_node(node)


def _constants(module: GraphModule) -> Iterator[tuple[Node, torch.Tensor]]:
    """What is known on the host before a graph runs, and small enough to be written into a kernel."""
    known: dict[Node, torch.Tensor] = {}
    for node in module.graph.nodes:
        if node.op == "get_attr":
            value: Any = getattr(module, node.target, None)
            if isinstance(value, torch.Tensor) and value.device == CPU and _is_small(value):
                known[node] = value
        elif node.target in _COPIES and node.args[0] in known:
            known[node] = known[node.args[0]]
            yield node, known[node]


def _is_small(value: torch.Tensor) -> bool:
    return not value.dim() or (value.dim() == 1 and 0 < value.numel() <= _INLINED)


def _inline(node: Node, constant: torch.Tensor) -> None:
    """Operators of the device find it there."""
    graph, users = node.graph, [one for one in node.users if "cuda" in devices(one.meta.get("val"))]
    with no_dispatch():
        numbers = constant.reshape(-1).tolist()
    settings = {"dtype": constant.dtype, "device": CUDA}
    with graph.inserting_before(node):
        made = [graph.call_function(_aten.full.default, ([], number), settings) for number in numbers]
        inlined = graph.call_function(_aten.stack.default, (made,)) if constant.dim() else made[0]
    for user in users:
        user.replace_input_with(node, inlined)
