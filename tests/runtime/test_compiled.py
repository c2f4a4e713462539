"""What compiled functions leave out of CUDA graphs, as Inductor says it, and what only looks like one of these."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from graphlint import runtime
from graphlint.config import load_config
from graphlint.finding import Report
from graphlint.rulebook import builtin_rulebook
from graphlint.runtime.device.cuda.partitions import telling

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


def asked(scheduler: Any, answer: object, *traces: str) -> list[tuple[str, str]]:
    """What is told where the scheduler gives an answer about a kernel that was made of nodes with these traces."""
    heard: list[tuple[str, str]] = []
    origins = [SimpleNamespace(meta={"stack_trace": trace}) for trace in traces]
    with telling(lambda *found: heard.append(found)):
        given = scheduler.should_partition(None, SimpleNamespace(answer=answer, node=SimpleNamespace(origins=origins)))
    assert given == answer, "the scheduler goes on with its own answer"
    return heard


def test_the_reason_of_the_scheduler_is_told_with_its_trace(scheduler: Any) -> None:
    """The first trace that there is; a release that gives no reason is told all the same."""
    assert [("cpu ops", "line 3")] == asked(scheduler, "cpu ops", "", "line 3")
    assert [("ops that cannot be graphed", "")] == asked(scheduler, True)


def test_a_kernel_that_is_graphed_is_silent(scheduler: Any) -> None:
    """So is all that is not to be graphed, of which the scheduler says that it is left out."""
    assert [] == asked(scheduler, None, "line 3")
    with importlib.import_module("torch._inductor.config").patch("triton.cudagraphs", False):
        assert [] == asked(scheduler, "cpu ops", "line 3")


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
