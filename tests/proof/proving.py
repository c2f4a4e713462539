"""Programs in, records of a real device out: each runs in a process of its own, with a deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from proof import evidence
from proof.device import gpu_count, present_device
from proof.evidence import Evidence
from proof.programs import ROOT, Program

DEADLINE = 180  # seconds for one program; compiling one takes most of a minute
WORKERS = max(1, (os.cpu_count() or 1) * 3 // 4)


class Proving:
    """Runs programs in parallel; results are asked for by program, and written down at the end."""

    def __init__(self, programs: list[Program]) -> None:
        self.evidence = Evidence(present_device())
        if self.evidence.path.exists():
            self.evidence.records.update(evidence.read(self.evidence.path).records)
        self.pool = ThreadPoolExecutor(WORKERS)
        runnable = [program for program in programs if program.gpus <= gpu_count()]
        self.running: dict[str, Future[dict[str, Any]]] = {p.name: self.pool.submit(prove, p) for p in runnable}

    def record(self, program: Program) -> dict[str, Any]:
        """What the device did with the program, once it has."""
        record = self.running[program.name].result()
        self.evidence.records[program.name] = record
        return record

    def finish(self, programs: list[Program]) -> None:
        """Stop what has not begun, and write down what is known of these programs."""
        self.pool.shutdown(cancel_futures=True)
        self.evidence.write(programs)


def prove(program: Program) -> dict[str, Any]:
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
    return {"hash": program.hash, **record, **({"outcome": "timeout"} if late else {})}


def no_result(errors: str) -> dict[str, Any]:
    """The record of a process that ended before the program began."""
    last = (errors.strip().splitlines() or ["no output"])[-1]
    return {"outcome": "died", "cause": last, "place": None, "nodes": None, "seconds": None}
