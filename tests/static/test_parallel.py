"""Declared regions are run in a process of their own: nothing is lost on the way, neither findings nor errors."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.errors import UsageError
from graphlint.static.index import parallel

PROGRAM = """
import torch
from layers import scale

def opened(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        scale(x)

def declared(x: torch.Tensor):
    import broken
    x.tolist()  # graphlint: ignore[GL101] read before capture
    return scale(x) + broken.f(x)
# file: layers.py
def scale(x):
    return x / x.max().item()
# file: broken.py
def f(x:
"""


def test_two_processes_report_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings, regions of each finding, suppressions, broken files and counts are the same."""
    reports = []
    for forks in (True, False):
        monkeypatch.setattr(parallel, "can_fork", lambda forks=forks: forks)
        reports.append(analyse(tmp_path, PROGRAM, regions=("main:declared",)).report)
    two, one = reports
    assert one.findings == two.findings
    assert {"GL001", "GL101"} == {finding.code for finding in two.findings}
    item = next(finding for finding in two.findings if finding.code == "GL101")
    assert ["torch.cuda.graph", "declared"] == [region.kind for region in item.regions]
    for summary in (one.summary, two.summary):
        assert (3, 2, 1) == (summary.functions, summary.regions, summary.suppressed)


def test_an_error_arrives_as_if_it_were_raised_here() -> None:
    """What the user got wrong is told by one line, whichever process finds out."""

    def work() -> None:
        raise UsageError("region `a:b`: no module `a`")

    with pytest.raises(UsageError, match="no module `a`"):
        parallel.begin(work)()


@pytest.mark.skipif(not parallel.can_fork(), reason="one processor, or a system that does not fork")
def test_a_process_that_dies_is_an_error() -> None:
    """Nobody waits for it."""
    with pytest.raises(RuntimeError, match="status 3"):
        parallel.begin(lambda: os._exit(3))()


def test_no_process_is_begun_beside_threads() -> None:
    """A copy of the process would not have them, nor the locks that they hold."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not parallel.can_fork()
    finally:
        done.set()
        thread.join()
