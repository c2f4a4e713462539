"""A traced graph in, its stretches that go into CUDA graphs, and why the others do not, out.

Inductor decides by kernels that it has made of the trace; here, the trace is all there is. Stretches are one after the
other, and none is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch._inductor import config, utils
from torch.fx import GraphModule, Node
from torch.fx.passes.split_module import split_module
from torch.utils._pytree import tree_leaves

_CONTROL_FLOW = ("cond", "while_loop", "switch")


def reason(node: Node) -> str:
    """Why the kernels of a node go into no graph, in the words of Inductor; empty where they may."""
    if node.op != "call_function":
        return ""
    if isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() in _CONTROL_FLOW:
        return "Conditional ops"
    made, given = _devices(node.meta.get("val")), _devices([one.meta.get("val") for one in node.all_input_nodes])
    if "cpu" in made:
        return "cpu ops"
    if made and given == {"cpu"}:
        return "DeviceCopy ops"
    if node.meta.get("unbacked_bindings"):
        return "unbacked binding ops"
    if _is_unsafe(node):
        return "CUDAGraph-unsafe custom ops"
    if config.triton.cudagraph_skip_dynamic_graphs and utils.any_is_symbolic(*tree_leaves(node.meta.get("val"))):
        return "dynamic shape ops"
    return ""


def split(module: GraphModule) -> tuple[GraphModule, dict[str, str]]:
    """The same graph as calls of its stretches; of those that go into no graph, by name, why.

    What launches nothing, as to take an element of a tuple, stays with what stands before it.
    """
    numbers: dict[Node, int] = {}
    reasons: dict[str, str] = {}
    number, was_in = -1, None
    for node in module.graph.nodes:
        if node.op in ("placeholder", "output", "get_attr"):
            continue
        why = reason(node)
        if was_in is None or (_launches(node) and bool(why) is was_in):
            number += 1
            was_in = not why
            if why:
                reasons[f"submod_{number}"] = why
        numbers[node] = number
    whole = split_module(module, module, numbers.__getitem__, keep_original_order=True)
    return whole, reasons


def mutated(module: GraphModule) -> Iterator[int]:
    """The positions of the arguments that a graph writes."""
    places = {node: number for number, node in enumerate(module.graph.find_nodes(op="placeholder"))}
    for node in module.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        for argument, value in zip(schema.arguments, node.args, strict=False):
            if argument.is_write:
                yield from (places[one] for one in tree_leaves(value) if one in places)


def _launches(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload | torch._ops.HigherOrderOperator) and not getattr(
        node.target, "is_view", False
    )


def _is_unsafe(node: Node) -> bool:
    if hasattr(utils, "is_cudagraph_unsafe_fx_node"):
        return bool(utils.is_cudagraph_unsafe_fx_node(node))
    alone: Any = SimpleNamespace(graph=SimpleNamespace(nodes=[node]))
    return utils.get_first_incompatible_cudagraph_node(alone) is not None


def _devices(values: object) -> set[str]:
    return {one.device.type for one in tree_leaves(values) if isinstance(one, torch.Tensor)}
