"""A graph that `torch.compile` has traced in, what runs it operator by operator in place of Inductor's kernels out.

Dynamo, AOTAutograd, the decompositions of Inductor, its reasons not to use CUDA graphs and its trees of them are those
of torch; no kernels are written.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._dynamo import config as dynamo_config
from torch._dynamo import convert_frame
from torch._dynamo.backends import common
from torch._dynamo.exc import InternalTorchDynamoError
from torch._dynamo.variables.optimizer import OptimizerVariable
from torch._functorch import config as functorch_config
from torch._guards import detect_fake_mode
from torch._inductor import compile_fx, config, cudagraph_trees, cudagraph_utils
from torch._inductor.fx_passes import joint_graph
from torch._inductor.fx_passes.post_grad import move_constructors_to_gpu
from torch._inductor.utils import BoxedBool
from torch.fx import GraphModule, Interpreter, Node
from torch.fx.passes.fake_tensor_prop import FakeTensorProp

from graphlint.errors import UsageError
from graphlint.runtime.device.backend import TellLeftOut
from graphlint.runtime.device.emulator import numbered
from graphlint.runtime.device.emulator.device import Device
from graphlint.runtime.device.emulator.kernels import not_modelled
from graphlint.runtime.device.emulator.labels import goes_backward, hidden, is_hiding, name_again
from graphlint.runtime.device.emulator.lowering import lower
from graphlint.runtime.device.emulator.partitions import mutated, reason, refusal, split
from graphlint.runtime.trace.modes import leave_alone

# What stands in for functions that torch knows by their identity: those that make tensors, and what a device answers.
_STANDINS: tuple[tuple[Any, str], ...] = (
    (torch, "quantile"),
    (torch, "nanquantile"),
    (torch.nn.functional, "one_hot"),
)
_STATE = "_init_group"  # of an optimizer, by which torch makes the state of its parameters
_ANSWERS = ("is_available", "device_count", "is_bf16_supported", "get_device_capability", "get_device_name")

Run = Callable[[list[Any]], Any]

_told: list[TellLeftOut] = []
_in_parts: set[int] = set()  # graphs whose forward pass goes into several CUDA graphs


@contextlib.contextmanager
def telling(left_out: TellLeftOut) -> Iterator[None]:
    """Inside, pass on what is left out of graphs."""
    _told.append(left_out)
    try:
        yield
    finally:
        _told.remove(left_out)


@functools.cache
def prepare(device: Device) -> None:
    """From here on, torch compiles for a device that has no kernels."""
    leave_alone()
    for owner, name in (*numbered.functions(), *_STANDINS):
        torch.compiler.allow_in_graph(getattr(owner, name))
    for name in _ANSWERS:
        torch.compiler.assume_constant_result(getattr(torch.cuda, name))
    cudagraph_trees._use_cuda_memory_pool_manager = device.trees.pool
    convert_frame._compile = functools.partial(convert, convert_frame._compile)
    compile_fx.compile_fx = functools.partial(compile_traced, compile_fx.compile_fx)
    common.aot_module_simplified = functools.partial(trace_ahead, common.aot_module_simplified)
    compile_fx.joint_graph_passes = lambda module, *_: module  # which compute constants on the device
    functorch_config.enable_autograd_cache = False  # of code that there is none of
    dynamo_config.automatic_dynamic_local_pgo = False  # what a run has found is not left to the next one
    config.compile_threads = 1  # of kernels, which there are none of
    config.fallback_random = True  # random operators stay what they are
    OptimizerVariable.call_method = functools.partialmethod(_on_device, device, OptimizerVariable.call_method)


def _on_device(
    variable: OptimizerVariable, device: Device, calling: Callable[..., Any], tracer: Any, name: str, *given: Any
) -> Any:
    """What takes the place of a call of an optimizer, `calling`, whose state Dynamo makes for real while it traces."""
    optimizer: Any = variable.value
    if name != _STATE or not hasattr(optimizer, _STATE):
        return calling(variable, tracer, name, *given)
    make = getattr(optimizer, _STATE)

    def made(*args: Any, **kwargs: Any) -> Any:
        with device:
            return make(*args, **kwargs)

    vars(optimizer)[_STATE] = made
    try:
        return calling(variable, tracer, name, *given)
    finally:
        del vars(optimizer)[_STATE]


def convert(converting: Callable[..., Any], *given: Any, **settings: Any) -> Any:
    """What takes the place of the entry of Dynamo, `converting`: it fails by itself where it misses a GPU."""
    try:
        return converting(*given, **settings)
    except InternalTorchDynamoError as error:
        raise _not_compiled(error) from error


def _not_compiled(error: Exception) -> UsageError:
    sentence = str(error).strip().partition("\n")[0].partition(". ")[0]
    said = f"{type(error).__name__}: {sentence}"
    return not_modelled(f"torch cannot compile this without a GPU ({said})")


def compile_traced(compiling: Callable[..., Any], module: GraphModule, examples: Sequence[Any], **given: Any) -> Any:
    """What takes the place of the entry of Inductor, `compiling`, and lets it trace what goes backward as well."""
    try:
        with hidden(examples) if goes_backward(examples) else contextlib.nullcontext():
            return compiling(module, examples, **({"inner_compile": compile_graph} | given))
    except UsageError:
        raise
    except Exception as error:
        raise _not_compiled(error) from error


def trace_ahead(tracing: Callable[..., Any], module: GraphModule, examples: Sequence[Any], **given: Any) -> Any:
    """What takes the place of the entry of AOTAutograd, `tracing`, which gives other compilers their graphs."""
    if is_hiding() or not goes_backward(examples):
        return tracing(module, examples, **given)
    compilers = {name: _naming(given[name]) for name in ("fw_compiler", "bw_compiler") if given.get(name) is not None}
    with hidden(examples):
        return tracing(module, examples, **given | compilers)


def _naming(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """The same compiler, for graphs that name the GPU again."""

    @functools.wraps(compile_)
    def compiled(module: GraphModule, examples: Sequence[Any]) -> Any:
        name_again(module)
        return compile_(module, examples)

    return compiled


class Graphed(torch.nn.Module):
    """A stretch of a graph in a tree of CUDA graphs, or in several: one for each combination of sizes."""

    def __init__(self, part: GraphModule, graph: Callable[[], Run]) -> None:
        super().__init__()
        self.graph = graph
        self.is_single = isinstance(_output(part).args[0], Node)
        self.runs: dict[tuple[object, ...], Run] = {}

    def forward(self, *args: Any) -> Any:
        sizes = tuple(one.shape if isinstance(one, torch.Tensor) else one for one in args)
        if sizes not in self.runs:
            self.runs[sizes] = self.graph()
        found = self.runs[sizes](list(args))
        return found[0] if self.is_single else found


def compile_graph(
    module: GraphModule,
    examples: Sequence[Any],
    *,
    cudagraphs: Any = None,
    graph_id: int = -1,
    static_input_idxs: Sequence[int] = (),
    is_backward: bool = False,
    is_inference: bool = False,
    boxed_forward_device_index: Any = None,
    **_: Any,
) -> Run:
    """What Inductor gives for a traced graph: a function that empties the list of its arguments."""
    name_again(module)
    if not cudagraphs:
        return boxed(module)
    _move_to_device(module, examples)
    _tell(module)
    if why := refusal(module):
        cudagraph_utils.log_cudagraph_skip_and_bump_counter(f"skipping cudagraphs due to {why}")
        BoxedBool.disable(cudagraphs)
        return boxed(module)
    whole, reasons = split(module)
    parts = [(name, part) for name, part in whole.named_children() if name not in reasons]
    if not parts:
        BoxedBool.disable(cudagraphs)
        return _ungraphed_backward(module) if is_backward else boxed(module)
    if not (is_inference or is_backward):
        boxed_forward_device_index.set(0)
    given = module.graph.find_nodes(op="placeholder")
    if is_backward and graph_id in _in_parts:
        static_input_idxs = compile_fx.get_static_bw_input_idxs(module)  # what is saved between parts moves
    graph = functools.partial(
        _graphed,
        static={given[number].name for number in static_input_idxs},
        is_backward=is_backward,
        is_inference=is_inference,
    )
    if not reasons:
        return graph(module)
    if len(parts) > 1 and not is_backward:
        _in_parts.add(graph_id)
    for name, part in parts:
        setattr(whole, name, Graphed(part, functools.partial(graph, part)))
    return boxed(whole)


def _tell(module: GraphModule) -> None:
    """What goes into no graph is told, operator by operator."""
    for node in module.graph.nodes:
        if why := reason(node):
            for told in _told:
                told(why, node.meta.get("stack_trace") or "")


def _ungraphed_backward(module: GraphModule) -> Run:
    """Trees hear of a backward pass that they do not run; until then, they wait for it."""
    run = boxed(module)

    def ran(args: list[Any]) -> Any:
        manager = cudagraph_trees.get_manager(0, create_if_none_exists=False)
        if manager is not None:
            manager.set_to_running_backward()
        return run(args)

    ran._boxed_call = True  # type: ignore[attr-defined]
    return ran


def _move_to_device(module: GraphModule, examples: Sequence[Any]) -> None:
    """Numbers of the host that only the device uses go there first, as Inductor has it."""
    joint_graph.patterns.apply(module.graph)
    lower(module)
    move_constructors_to_gpu(module.graph)
    module.recompile()
    if all("val" in node.meta for node in module.graph.nodes if node.op == "call_function"):
        return
    with torch.no_grad():
        FakeTensorProp(module, detect_fake_mode(examples)).propagate_dont_convert_inputs(*examples)
    name_again(module)


def boxed(module: GraphModule) -> Run:
    """A function that runs a graph, and empties the list of its arguments."""

    def run(args: list[Any]) -> Any:
        given = list(args)
        args.clear()
        interpreter = Interpreter(module)
        interpreter.extra_traceback = False  # what fails says so in its own words
        found = interpreter.run(*given)
        return found if isinstance(found, tuple | list) else (found,)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _graphed(part: GraphModule, *, static: set[str], is_backward: bool, is_inference: bool) -> Run:
    """The same in a tree of CUDA graphs, as Inductor asks for it."""
    given = part.graph.find_nodes(op="placeholder")
    results = _output(part).args[0]
    made = results if isinstance(results, tuple | list) else (results,)
    run: Run = compile_fx.cudagraphify(
        boxed(part),
        [number for number, node in enumerate(given) if node.name in static],
        device_index=0,
        stack_traces=[getattr(one, "stack_trace", None) for one in made],
        is_backward=is_backward,
        is_inference=is_inference,
        placeholders=cudagraph_utils.get_placeholder_info(part.graph),
        mutated_input_idxs=tuple(sorted(set(mutated(part)))),
    )

    def ran(args: list[Any]) -> Any:
        try:
            return run(args)
        except AssertionError as error:  # of torch, which the memory of a GPU would have met
            raise not_modelled(f"trees of CUDA graphs say `{error}`") from error

    ran._boxed_call = True  # type: ignore[attr-defined]
    return ran


def _output(module: GraphModule) -> Node:
    (node,) = module.graph.find_nodes(op="output")
    return node
