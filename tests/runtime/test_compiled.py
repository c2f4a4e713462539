"""What compiled functions leave out of CUDA graphs, as Inductor says it, and what only looks like one of these."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.finding import Report  # noqa: E402
from graphlint.rulebook import builtin_rulebook  # noqa: E402
from graphlint.runtime.device.cuda.partitions import telling  # noqa: E402
from graphlint.runtime.device.emulator import library  # noqa: E402
from graphlint.runtime.examine.target import parse  # noqa: E402
from graphlint.runtime.session.forked import run_forked  # noqa: E402
from graphlint.runtime.session.hearing import Hearing  # noqa: E402
from graphlint.runtime.session.session import EMULATOR, Session  # noqa: E402
from graphlint.runtime.watch.compiled import compiling_anew, remembering  # noqa: E402
from graphlint.runtime.watch.standins import patched  # noqa: E402

EMPTY_BESIDE_TREES = """
import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        step(torch.ones(4, 8, device="cuda"))
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    pass
graph.replay()
"""

UNKNOWN_KERNEL = """
import torch

library = torch.library.Library("compiled_tests", "DEF")
library.define("unknown(Tensor x) -> Tensor")
torch.library.register_fake("compiled_tests::unknown")(torch.empty_like)
step = torch.compile(lambda x: torch.ops.compiled_tests.unknown(x) + 1, mode="reduce-overhead")
step(torch.ones(4, device="cuda"))
"""

DECLARED = """
import torch


def init_gpu_context(device):
    raise RuntimeError("there is no driver")


step = torch.compile(torch.nn.Linear(8, 8).cuda())
"""
without_a_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="a process that uses a GPU is not forked")

NO_CONTEXT = "torch._subclasses.fake_tensor.init_gpu_context = init_gpu_context\n"
CALL = 'step(torch.ones(4, 8, device="cuda"))\n'


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The scheduler of Inductor, which answers what is put into `answer`, and graphs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = importlib.import_module("torch._inductor.scheduler").Scheduler
    config = importlib.import_module("torch._inductor.config")
    monkeypatch.setattr(kind, "should_partition", lambda self, node: node.answer)
    with config.patch("triton.cudagraphs", True):
        yield kind


def kernel(*traces: str, named_after: int | None = None) -> SimpleNamespace:
    """What was made of nodes with these traces, of one of which it may have its name; they come in no order."""
    graph = torch.fx.Graph()
    nodes = [graph.placeholder(f"given_{number}") for number in range(len(traces))]
    for node, trace in zip(nodes, traces, strict=True):
        node.meta["stack_trace"] = trace
    return SimpleNamespace(origins=nodes[::-1], origin_node=None if named_after is None else nodes[named_after])


def asked(scheduler: Any, answer: object, node: object) -> list[tuple[str, str]]:
    """What is told where the scheduler gives an answer about a kernel."""
    heard: list[tuple[str, str]] = []
    with telling(lambda *found: heard.append(found)):
        given = scheduler.should_partition(None, SimpleNamespace(answer=answer, node=node))
    assert given == answer, "the scheduler goes on with its own answer"
    return heard


def test_the_reason_of_the_scheduler_is_told_with_its_trace(scheduler: Any) -> None:
    """That of the node it is named after, or the first there is; a release that gives no reason is told as well."""
    assert [("cpu ops", "line 3")] == asked(scheduler, "cpu ops", kernel("", "line 3", "line 4"))
    assert [("cpu ops", "line 4")] == asked(scheduler, "cpu ops", kernel("", "line 3", "line 4", named_after=2))
    assert [("ops that cannot be graphed", "")] == asked(scheduler, True, kernel())


def test_a_kernel_that_is_graphed_is_silent(scheduler: Any) -> None:
    """So is all that is not to be graphed, of which the scheduler says that it is left out."""
    assert [] == asked(scheduler, None, kernel("line 3"))
    with importlib.import_module("torch._inductor.config").patch("triton.cudagraphs", False):
        assert [] == asked(scheduler, "cpu ops", kernel("line 3"))


def test_an_assertion_of_the_host_is_no_work_that_a_graph_leaves_out(scheduler: Any) -> None:
    """The compiler makes some of its own, of sizes that it found out."""
    assertion = importlib.import_module("torch._inductor.ir").AssertScalar
    assert [] == asked(scheduler, "cpu ops", assertion.__new__(assertion))


def test_what_was_compiled_before_is_compiled_anew() -> None:
    """What torch reads back from the disk never passes the scheduler: a second run would hear nothing."""
    graphs, gradients = map(importlib.import_module, ("torch._inductor.config", "torch._functorch.config"))
    kept = graphs.fx_graph_cache, gradients.enable_autograd_cache
    assert kept == (True, True), "torch keeps what it compiles, unless it is told not to"
    with compiling_anew():
        assert (graphs.fx_graph_cache, gradients.enable_autograd_cache) == (False, False)
    assert kept == (graphs.fx_graph_cache, gradients.enable_autograd_cache)


COMPILED_TWICE = """
import torch
from torch._inductor import config

assert config.fx_graph_cache
step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        step(torch.ones(4, 8, device="cuda"))
assert not config.fx_graph_cache
"""


def test_a_target_that_graphs_what_it_compiles_compiles_it_anew(tmp_path: Path) -> None:
    """From its first compilation on."""
    report = verified(tmp_path, COMPILED_TWICE)
    assert (report.findings, report.targets[0].problem) == ((), "")


def verified(folder: Path, program: str) -> Report:
    (folder / "program.py").write_text(program)
    return runtime.verify([str(folder / "program.py")], load_config(folder, None), builtin_rulebook(), on="emulator")


def test_only_the_capture_of_trees_may_be_empty(tmp_path: Path) -> None:
    """The one by which they keep their pool is no capture of the program; one of its own is told."""
    report = verified(tmp_path, EMPTY_BESIDE_TREES)
    assert [("GL901", 9)] == [(one.code, one.span.line) for one in report.findings]
    assert 2 == report.targets[0].measured["captures"]


def test_what_the_emulator_cannot_run_is_no_failure_of_the_target(tmp_path: Path) -> None:
    """One line says so."""
    report = verified(tmp_path, UNKNOWN_KERNEL)
    (target,) = report.targets
    assert ((), "cannot tell") == (report.findings, target.verdict)
    assert "not modelled: the emulator has no kernel for `compiled_tests.unknown.default`" in target.problem
    assert "\n" not in target.problem


def looked_at(text: str, tmp_path: Path) -> Hearing:
    """What the emulator says of a program, in a fork of this process."""
    path, heard = tmp_path / "program.py", Hearing()
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_forked(Session(parse(str(path)), builtin_rulebook(), EMULATOR), 120, heard)
    return heard


@without_a_gpu
def test_what_the_compiler_misses_without_a_gpu_is_no_failure_of_the_target(tmp_path: Path) -> None:
    """One line says so, and nothing is found."""
    heard = looked_at(DECLARED + NO_CONTEXT + CALL, tmp_path)
    assert "not modelled: torch cannot compile this without a GPU" in heard.problem
    assert "there is no driver" in heard.problem
    assert heard.findings == []


@without_a_gpu
@pytest.mark.parametrize(
    ("then", "problem"), [("", ""), (CALL, f"not modelled: what torch {torch.__version__} compiles")]
)
def test_a_release_whose_compiled_functions_cannot_be_followed_is_named_once_one_runs(
    then: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To declare one is nothing yet."""
    monkeypatch.setattr(library, "COMPILES", False)
    heard = looked_at(DECLARED + then, tmp_path)
    assert problem in heard.problem
    assert bool(problem) is bool(heard.problem)
    assert heard.findings == []


def test_a_write_into_a_part_of_an_argument_keeps_its_line() -> None:
    """Inductor makes a write to a view of it, which has no trace."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiling: Any = importlib.import_module("torch._inductor.compile_fx")
        cudagraphs: Any = importlib.import_module("torch._inductor.cudagraph_utils")

    def step(x: Any, cache: Any) -> Any:
        cache[1] = x
        return cache.sum(0)

    def traces(module: Any, _examples: object, **_: object) -> Any:
        compiling._recursive_post_grad_passes(module, True)
        told.extend(one.mutating_use_stack_trace for one in cudagraphs.get_placeholder_info(module.graph))
        return compiling.make_boxed_func(module)

    told: list[str | None] = []
    with patched(list(remembering())), torch.no_grad():
        compiler = functools.partial(compiling.compile_fx, inner_compile=traces)
        torch.compile(step, backend=compiler)(torch.ones(8), torch.zeros(4, 8))
    assert "cache[1] = x" in (told[1] or "")
