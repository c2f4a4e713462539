"""A process in which a capture failed is cleaned up, and goes on as if nothing had happened."""

# ruff: noqa: E402 (nothing of this can be imported without torch)
from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch")
from failures import CHECKS, WAYS, Run

from graphlint.runtime.session.isolation import Ending, run_isolated, server

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")

DEADLINE = 60.0  # seconds for one process
WORKERS = min(16, os.cpu_count() or 1)
BREAKING = "device assert in warm-up"
HEALTHY = {"recovered": True, **{check.__name__: True for check in CHECKS}}

Told = tuple[Ending, dict[str, object]]


def run(work: Run) -> Told:
    """How a process of its own ends that does the work, and what it told."""
    told: dict[str, object] = {}
    ending = run_isolated(server(), work, DEADLINE, lambda message: told.update([message]))
    return ending, told


@pytest.fixture(scope="module")
def processes() -> Iterator[dict[str, Future[Told]]]:
    """One process for each way, several at a time."""
    with ThreadPoolExecutor(WORKERS) as pool:
        yield {name: pool.submit(run, Run(name)) for name in WAYS}


@pytest.mark.parametrize("name", [name for name in WAYS if name != BREAKING])
def test_a_process_is_healthy_after_a_failed_capture(name: str, processes: dict[str, Future[Told]]) -> None:
    """It computes, draws random numbers, captures and replays, and does not die later."""
    ending, told = processes[name].result()
    failed = told.pop("failed")
    assert (Ending(), HEALTHY | ({"afterwards": True} if WAYS[name].afterwards else {})) == (ending, told)
    assert failed or not WAYS[name].raises


def test_a_broken_context_is_told_and_costs_one_process(processes: dict[str, Future[Told]]) -> None:
    """Nothing helps after a device-side assert, and the next process works."""
    ending, told = processes[BREAKING].result()
    assert (Ending(), False) == (ending, told.get("recovered"))
    assert "assert" in str(told.get("failed"))
    ending, told = run(Run("item"))
    assert (Ending(), HEALTHY) == (ending, {step: how for step, how in told.items() if step != "failed"})


def test_a_failed_capture_that_is_left_alone_breaks_its_process() -> None:
    """The checks tell a healthy process from another one."""
    ending, told = run(Run("never ended", cleans_up=False))
    assert ending != Ending() or {told.get(check.__name__) for check in CHECKS} != {True}
