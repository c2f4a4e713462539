"""Declared regions are run in a process of their own: nothing is lost on the way, neither findings nor errors."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.errors import UsageError
from graphlint.static.index import parallel
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life import rehearsal, ways
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.players import Runs
from graphlint.static.life.programs import Program
from graphlint.static.life.ways import Ran

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


REPLAYED = """
import torch

class Runner:
    def __init__(self, model, size):
        self.model = model
        self.inputs = torch.zeros(size, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = self.model(self.inputs)

    def stale(self, x):
        self.graph.replay()
        return self.outputs

    def filled(self, x):
        self.inputs.copy_(x)
        self.graph.replay()
        return self.outputs.clone()

class Refused:
    def __init__(self, model):
        raise ValueError(model)

    def capture(self, x):
        with torch.cuda.graph(self.graph):
            x.sum()

    def first(self):
        self.graph.replay()

    def second(self):
        self.graph.replay()

def once(model, x):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = model(x)
    return y
"""


@pytest.mark.parametrize("bound", ["LONG", "MANY"])
@pytest.mark.parametrize("forks", [True, False])
def test_programs_that_are_shared_tell_what_they_tell_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: bool, bound: str
) -> None:
    """A rehearsal that takes long is divided, in its course or from the beginning: what is told, and by which program
    first, does not depend on that.
    """
    alone = analyse(tmp_path, REPLAYED).report.findings
    assert alone
    monkeypatch.setattr(parallel, "can_fork", lambda: forks)
    monkeypatch.setattr(rehearsal, bound, 0)
    assert alone == analyse(tmp_path, REPLAYED).report.findings


def test_what_no_object_is_made_of_is_rehearsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no run comes through a constructor, another method has nothing to add; where one does, each is called."""
    ran: list[str] = []

    def rehearse(interpreter: Interpreter, program: Program, listen: Callable[[Ledger], None], runs: Runs) -> Ran:
        owner = program.run.keywords.get("owner")
        ran.append(f"{owner.name}.{program.run.keywords['name']}" if owner is not None else "other")
        return ways.rehearse(interpreter, program, listen, runs)

    monkeypatch.setattr(rehearsal, "rehearse", rehearse)
    analyse(tmp_path, REPLAYED)
    assert ["Refused.first"] == [name for name in ran if name.startswith("Refused")]
    assert ["Runner.stale", "Runner.filled"] == [name for name in ran if name.startswith("Runner")]


@pytest.mark.skipif(not parallel.can_fork(), reason="one processor, or a system that does not fork")
def test_work_that_is_begun_begins_no_other_process() -> None:
    """Both processors have something to do by then; what it would begin, it does itself."""
    assert (False, "done") == parallel.begin(lambda: (parallel.can_fork(), parallel.begin(lambda: "done")()))()
    assert parallel.can_fork()


@pytest.mark.skipif(not parallel.can_fork(), reason="one processor, or a system that does not fork")
def test_a_process_that_dies_is_an_error() -> None:
    """Nobody waits for it."""
    with pytest.raises(RuntimeError, match="status 3"):
        parallel.begin(lambda: os._exit(3))()


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("count", [0, 1, 300, 1300])
def test_each_piece_of_work_is_done_once(monkeypatch: pytest.MonkeyPatch, forks: bool, count: int) -> None:
    """Whoever is done with a piece takes the next, and where one process does them all, they stay in order."""
    monkeypatch.setattr(parallel, "can_fork", lambda: forks)
    pieces = [f"piece {number}" for number in range(count)]
    turns = parallel.Turns(pieces)
    other = parallel.begin(lambda: [*turns])
    here = [*turns]
    there = other()
    turns.close()
    assert pieces == sorted(here + there, key=pieces.index)
    assert forks or (pieces, []) == (here, there)


@pytest.mark.skipif(not parallel.can_fork(), reason="one processor, or a system that does not fork")
def test_a_process_that_dies_with_a_piece_keeps_no_other_waiting() -> None:
    """The others do what is left, and then its end is an error."""
    turns = parallel.Turns(["first", "second"])
    dying = parallel.begin(lambda: os._exit(len(next(iter(turns)))))
    with pytest.raises(RuntimeError, match="status 5"):
        dying()
    assert ["second"] == [*turns]
    turns.close()


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


ORPHAN = """
import os, signal, sys, time
from graphlint.static.index import parallel

def work():
    print(os.getpid(), flush=True)
    time.sleep(60)
    print("goes on", flush=True)

parallel.can_fork = lambda: True
parallel.begin(work)
time.sleep(600)
"""


def test_a_process_ends_with_the_one_that_began_it() -> None:
    """Whoever kills a check is left with nothing that goes on: the pipe to it is closed by the end of the last one."""
    with subprocess.Popen([sys.executable, "-c", ORPHAN], stdout=subprocess.PIPE, text=True) as begun:
        assert begun.stdout is not None
        assert int(begun.stdout.readline()) != begun.pid
        begun.kill()
        assert begun.stdout.read() == ""
