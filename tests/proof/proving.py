"""Programs in, records of a real device out: each runs in a process of its own, with a deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from proof import evidence
from proof.device import gpu_count
from proof.evidence import Evidence
from proof.programs import ROOT, Program, all_programs

DEADLINE = 180  # seconds for one program; compiling one takes most of a minute
WORKERS = max(1, (os.cpu_count() or 1) * 3 // 4)

Record = dict[str, Any]


class Proving:
    """Runs programs in parallel and writes down each record as it comes; they are asked for by program."""

    def __init__(self, written: Evidence, look: Callable[[Program], Record], programs: Iterable[Program]) -> None:
        self.evidence = written
        if written.path.exists():
            written.records.update(evidence.read(written.path).records)
        self.look = look
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(WORKERS)
        gpus, torch = gpu_count(), written.device["torch"]
        runnable = [program for program in programs if program.gpus <= gpus and program.is_about(torch)]
        self.running: dict[str, Future[Record]] = {p.name: self.pool.submit(self._run, p) for p in runnable}

    def record(self, program: Program) -> Record:
        """What came of the program, once it has run."""
        return self.running[program.name].result()

    def finish(self) -> None:
        """Stop what has not begun."""
        self.pool.shutdown(cancel_futures=True)

    def _run(self, program: Program) -> Record:
        record = {"hash": program.hash, **self.look(program)}
        with self.lock:
            self.evidence.records[program.name] = record
            self.evidence.write(all_programs())
        return record


def selected(request: pytest.FixtureRequest, begin: Callable[[list[Program]], Proving]) -> Iterator[Proving | None]:
    """The programs of the tests that use this fixture, running on this machine; None without `--prove`."""
    if not request.config.getoption("--prove"):
        yield None
        return
    if not gpu_count():
        pytest.exit("--prove needs a GPU that torch can use; without it, `pytest` checks the recorded evidence", 4)
    asking = [item for item in request.session.items if request.fixturename in getattr(item, "fixturenames", ())]
    proving = begin([item.callspec.params["program"] for item in asking])
    yield proving
    proving.finish()


def prove(program: Program) -> Record:
    """Run one program on the device."""
    with tempfile.TemporaryDirectory() as folder:
        entry, result = program.write(Path(folder, "program")), Path(folder, "result.json")
        command = [sys.executable, "-m", "tests.proof.observe", str(entry), str(result)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"},
        )  # fmt: skip
        late = False
        try:
            _, errors = process.communicate(timeout=DEADLINE)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)  # with the children that compile
            _, errors = process.communicate()
        record = json.loads(result.read_text("utf-8")) if result.exists() else no_result(errors)
    return {**record, **({"outcome": "timeout"} if late else {})}


def no_result(errors: str) -> Record:
    """The record of a process that ended before the program began."""
    last = (errors.strip().splitlines() or ["no output"])[-1]
    return {"outcome": "died", "cause": last, "place": None, "nodes": None, "seconds": None}
