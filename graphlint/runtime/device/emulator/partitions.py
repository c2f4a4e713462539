"""A traced graph in, its stretches that go into CUDA graphs, and why the others do not, out.

Inductor decides by kernels that it has made of the trace; here, the trace is all there is. Stretches are one after the
other, and none is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch._inductor import config, cudagraph_utils, utils
from torch.fx import GraphModule, Node
from torch.fx.passes.split_module import split_module
from torch.utils._pytree import tree_leaves

_BRANCHES = ("cond", "switch")  # which leave out all of a function
_LOOPS = ("while_loop", "while_loop_stack_output")
_WRAPPERS = ("auto_functionalized", "auto_functionalized_v2")  # of operators that write to what they are given


def refusal(module: GraphModule) -> str:
    """Why nothing of a graph goes into CUDA graphs, in the words of Inductor; empty where something may."""
    for node in module.graph.nodes:
        if (name := _higher_order(node)) in _BRANCHES and "cuda" in devices(_given(node)):
            return _at(f"control flow operator: torch.{name}.", node)
    if _goes_in_parts():
        return ""
    if found := _sized_anew(module):
        return _at("graph with symbolic shapes inputs and config.triton.cudagraph_skip_dynamic_graphs=True.", found)
    if found := utils.get_first_incompatible_cudagraph_node(module):
        return _at(f"disabling cudagraphs due to incompatible op {found.target}", found)
    used = {device: node for node in reversed(module.graph.nodes) for device in _all_devices(node.meta.get("val"))}
    return cudagraph_utils.check_lowering_disable_cudagraph(used) or ""


def reason(node: Node) -> str:
    """Why the kernels of a node go into no graph, in the words of Inductor; empty where they may."""
    if node.op != "call_function" or not _goes_in_parts():
        return ""
    if _higher_order(node) in _BRANCHES:
        return "Conditional ops"
    made, given = devices(node.meta.get("val")), devices(_given(node))
    if "cpu" in made:
        return "cpu ops"
    if made and given == {"cpu"}:
        return "DeviceCopy ops"
    if node.meta.get("unbacked_bindings"):
        return "unbacked binding ops"
    if _higher_order(node) in _LOOPS or _is_unsafe(_unwrapped(node)):
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


def _goes_in_parts() -> bool:
    """Whether what may be graphed is, where other parts of a function may not."""
    return bool(getattr(config, "graph_partition", False))


def _higher_order(node: Node) -> str:
    return node.target.name() if isinstance(node.target, torch._ops.HigherOrderOperator) else ""


def _unwrapped(node: Node) -> Any:
    """A node that calls the operator itself."""
    if _higher_order(node) not in _WRAPPERS:
        return node
    return SimpleNamespace(target=node.args[0], args=(), kwargs=node.kwargs, meta=node.meta)


def _is_unsafe(node: Any) -> bool:
    if hasattr(utils, "is_cudagraph_unsafe_fx_node"):
        return bool(utils.is_cudagraph_unsafe_fx_node(node))
    alone: Any = SimpleNamespace(graph=SimpleNamespace(nodes=[node]))
    return utils.get_first_incompatible_cudagraph_node(alone) is not None


def _sized_anew(module: GraphModule) -> Node | None:
    """The first operator whose result has another size with other arguments, if that is to be left out."""
    if not config.triton.cudagraph_skip_dynamic_graphs:
        return None
    nodes = (node for node in module.graph.nodes if node.op != "placeholder")
    return next((node for node in nodes if utils.any_is_symbolic(*tree_leaves(node.meta.get("val")))), None)


def _at(why: str, node: Node) -> str:
    return f"{why} Found from : \n {trace}" if (trace := node.meta.get("stack_trace")) else why


def _given(node: Node) -> list[object]:
    return [one.meta.get("val") for one in node.all_input_nodes]


def devices(values: object) -> set[str]:
    return {one.type for one in _all_devices(values)}


def _all_devices(values: object) -> Iterator[torch.device]:
    return (one.device for one in tree_leaves(values) if isinstance(one, torch.Tensor))
