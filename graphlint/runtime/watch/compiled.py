"""What torch compiles in; what of it goes into no CUDA graph, and why, and what is compiled in a capture, out."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from graphlint.finding import Span
from graphlint.runtime.device.backend import Backend
from graphlint.runtime.trace.frames import local, running
from graphlint.runtime.trace.modes import leave_alone
from graphlint.runtime.trace.places import Stack, caller_stack, is_user_code
from graphlint.runtime.watch.openings import Openings
from graphlint.runtime.watch.standins import patched
from graphlint.runtime.watch.trees import Trees, outside

_TREES = "torch._inductor.cudagraph_trees"
_DYNAMO, _INDUCTOR = "torch._dynamo.convert_frame", "torch._inductor"
_SKIP = "log_cudagraph_skip_and_bump_counter"  # what Inductor calls, from several modules, where it uses no graph
_ALLOCATE = "_empty_strided_cuda"  # what each module binds that Inductor writes
_REWRITE = "_recursive_post_grad_passes"  # what changes a graph before kernels are made of it
_TRACE_OF = "get_mutating_use_stack_trace_from_node"
_CACHES = {  # of compiled graphs; those of kernels stay
    "torch._inductor.config": ("fx_graph_cache", "fx_graph_remote_cache"),
    "torch._functorch.config": ("enable_autograd_cache", "enable_remote_autograd_cache"),
}
_WRITTEN = "graphlint_written"  # a key of what is known of an argument
_LINE = re.compile(r'File "([^"]+)", line (\d+)')  # of a trace as torch prints it


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Why something goes into no graph, as torch says it, and the line that is to blame, if that is known."""

    why: str
    span: Span | None
    stack: Stack
    is_function: bool  # of those that trees run


class Compiled:
    """Follows the compiler, once torch has loaded it, which takes seconds.

    `left_out` is told what goes into no graph, `beginning` where a compilation begins, `ended` that it has, `allocated`
    of memory that what is compiled takes without an operator.
    """

    def __init__(self, driver: Backend, openings: Openings) -> None:
        self.driver = driver
        self.trees = Trees(openings)
        self.left_out: list[Callable[[LeftOut], None]] = []
        self.beginning: list[Callable[[Stack], None]] = []
        self.ended: list[Callable[[], None]] = []
        self.allocated: list[Callable[[torch.Tensor], None]] = []
        self._patches = contextlib.ExitStack()
        self.is_followed = False  # the program compiles something
        self._is_graphing = False  # what is compiled now is to be graphed
        self._breaks = 0  # of the graphs of the compiler, so far

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, what is compiled is followed."""
        if _DYNAMO in sys.modules:
            self._follow()
        with patched([(torch, "compile", self._compiling(torch.compile))]), self._patches:
            yield

    def _compiling(self, compile_: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compile_)
        def compiled(*args: Any, **kwargs: Any) -> Any:
            result = compile_(*args, **kwargs)
            self._follow()
            return result

        return compiled

    def _follow(self) -> None:
        """The compiler is there now, and has compiled nothing that is followed."""
        if self.is_followed:
            return
        self.is_followed = True
        leave_alone()
        handler: Any = importlib.import_module("torch._dynamo.callback").CompilationCallbackHandler
        self._breaks = len(_graph_breaks())
        guards: Any = torch._C._dynamo.guards
        patches = [
            (guards, _ALLOCATE, self._allocating(getattr(guards, _ALLOCATE))),
            (handler, "run_start_callbacks", self._starting(handler.run_start_callbacks)),
            (handler, "run_end_callbacks", self._ending(handler.run_end_callbacks)),
        ]
        self._patches.enter_context(patched(patches))
        self.follow_trees()

    def follow_trees(self) -> None:
        """Trees are there, or may be later: a program may use them without the compiler."""
        if _TREES in sys.modules:
            self._follow_graphs()

    def _follow_graphs(self) -> None:
        """Something is to be graphed; the modules that do it are about to be needed."""
        if self.trees.is_followed:
            return
        self._patches.enter_context(compiling_anew())
        self._patches.enter_context(self.trees.following())
        self._patches.enter_context(self.driver.partitions(self._note))
        skip = getattr(importlib.import_module("torch._inductor.cudagraph_utils"), _SKIP)
        owners = [module for name, module in list(sys.modules.items()) if _is_within(name) and _knows(module, skip)]
        self._patches.enter_context(patched([(owner, _SKIP, self._skipping(skip)) for owner in owners]))
        self._patches.enter_context(patched(list(remembering())))

    def _starting(self, start: Callable[..., None]) -> Callable[..., None]:
        def started(handler: object, *args: Any) -> None:
            start(handler, *args)
            if not _records(*args):
                self._is_graphing = _wants_graphs()
                if self._is_graphing:
                    self._follow_graphs()
                for told in self.beginning:
                    told(outside(caller_stack()))

        return started

    def _ending(self, end: Callable[..., None]) -> Callable[..., None]:
        def ended(handler: object, *args: Any) -> None:
            end(handler, *args)
            if _records(*args):
                return
            found = _graph_breaks()
            for one in found[self._breaks :] if self._is_graphing else ():
                lines = [Span(line.filename, line.lineno or 1) for line in one.user_stack]
                self._tell(f"graph break: {one.reason.strip().splitlines()[0]}", lines)
            self._breaks = len(found)
            for told in self.ended:
                told()

        return ended

    def _allocating(self, allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        @functools.wraps(allocate)
        def allocated(*args: Any) -> torch.Tensor:
            tensor = allocate(*args)
            for told in self.allocated:
                told(tensor)
            return tensor

        return allocated

    def _skipping(self, skip: Callable[[str], None]) -> Callable[[str], None]:
        @functools.wraps(skip)
        def skipped(said: str) -> None:
            self._note(said.strip().splitlines()[0].partition(" Found from")[0], said)
            skip(said)

        return skipped

    def _note(self, why: str, trace: str) -> None:
        """Torch says why something is in no graph; `trace` names lines of the program, from the outermost inwards."""
        self._tell(why, [Span(path, int(line)) for path, line in _LINE.findall(trace)])

    def _tell(self, why: str, lines: list[Span]) -> None:
        own = next((one for one in reversed(lines) if is_user_code(one.path)), None)
        for told in self.left_out:
            told(LeftOut(why, own, outside(caller_stack()), bool(self.trees.running)))


@contextlib.contextmanager
def compiling_anew() -> Iterator[None]:
    """Inside, torch compiles what it has kept of an earlier run as well: reading that back would tell nothing of why
    something is in no graph, so that a second run would hear less than the first.
    """
    with contextlib.ExitStack() as patches:
        for module, names in _CACHES.items():
            config: Any = importlib.import_module(module)
            patches.enter_context(config.patch({name: False for name in names if hasattr(config, name)}))
        yield


def remembering() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Where torch writes to an argument is known until Inductor makes the write one into a part of it."""
    compiling: Any = importlib.import_module("torch._inductor.compile_fx")
    cudagraphs: Any = importlib.import_module("torch._inductor.cudagraph_utils")
    rewrite, trace_of = getattr(compiling, _REWRITE, None), getattr(cudagraphs, _TRACE_OF, None)
    if rewrite is None or trace_of is None:  # a release that keeps this elsewhere
        return

    @functools.wraps(rewrite)
    def rewritten(module: Any, *args: Any, **kwargs: Any) -> Any:
        for node in module.graph.find_nodes(op="placeholder"):
            node.meta[_WRITTEN] = trace_of(node)
        return rewrite(module, *args, **kwargs)

    @functools.wraps(trace_of)
    def traced(node: Any) -> str | None:
        known: str | None = node.meta.get(_WRITTEN)
        return trace_of(node) or known

    yield compiling, _REWRITE, rewritten
    yield cudagraphs, _TRACE_OF, traced


def _graph_breaks() -> list[Any]:
    """Where the compiler ended a graph and went on with another, all in all."""
    found: list[Any] = importlib.import_module("torch._dynamo.utils").graph_break_reasons
    return found


def _records(*args: Any) -> bool:
    """Whether it is trees of graphs that tell of themselves, and not the compiler."""
    kind = importlib.import_module("torch._dynamo.callback")
    return bool(args) and args[0].callback_trigger is kind.CallbackTrigger.CUDAGRAPH_RECORDING


def _wants_graphs() -> bool:
    """Whether what is compiled now is to be graphed, by the backend that the compiler has been given."""
    compiler: Any = importlib.import_module(_DYNAMO)
    for frame in running():
        converter = local(frame, "self")
        if isinstance(converter, compiler.ConvertFrameAssert):
            names = ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable")  # in this release, and before
            given = (getattr(converter, name) for name in names if hasattr(converter, name))
            return _is_graphing(inspect.unwrap(next(given)))
    return False


def _is_graphing(backend: Any) -> bool:
    if isinstance(backend, torch._TorchCompileInductorWrapper):
        inductor: Any = importlib.import_module("torch._inductor.config")
        return bool(backend.config.get("triton.cudagraphs", inductor.triton.cudagraphs))
    given = getattr(backend, "compiler_fn", backend)
    known: Any = sys.modules.get("torch._dynamo.backends.cudagraphs")
    return known is not None and isinstance(given, known.CudagraphsBackend)


def _is_within(module: str) -> bool:
    return module.startswith((f"{_INDUCTOR}.", "torch._dynamo.backends."))


def _knows(module: ModuleType, function: object) -> bool:
    return vars(module).get(_SKIP) is function
