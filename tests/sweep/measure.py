"""What the public operations of torch do under capture: a file's name in, one JSON line a sample in that file out.

    python -m tests.sweep.measure OUT.jsonl.gz [--workers N] [--only TEXT] [--budget SECONDS] [--samples COUNT]

Samples are those of torch's OpInfo database and the lines of `statements.txt`. Workers observe them, which a failed
capture may kill: what one was observing when it died is recorded as such, and a new worker goes on behind it. The same
command resumes a run that was interrupted.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

STATEMENTS = Path(__file__).with_name("statements.txt")
WORKER = (sys.executable, "-m", "tests.sweep.worker")
SAMPLE_SECONDS = 20.0  # a worker that is silent for longer hangs
OTHER_SECONDS = 120.0  # importing torch, or making the samples of an entry, with all other workers busy
BATCH = 10  # statements that are handed out together
LONGEST_TEXT = 160

Record = dict[str, object]


def statements() -> list[str]:
    """The listed statements, one a line; lines that begin with `#` are headings."""
    return [line for line in STATEMENTS.read_text("utf-8").splitlines() if line and not line.startswith("#")]


class Worker:
    """A worker process, and what it says line by line."""

    def __init__(self, command: Sequence[str]) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, bufsize=0
        )
        self.heard = b""
        self.ended = False

    def say(self, message: Record) -> None:
        with suppress(BrokenPipeError):  # the next `hear` tells
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def hear(self, seconds: float) -> Record | None:
        """The next message; None, if the worker ends or stays silent."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self.heard:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                self.ended = True
                return None
            self.heard += more
        line, _, self.heard = self.heard.partition(b"\n")
        return json.loads(line)

    def end(self) -> str:
        """End the process; what it died of, if it had not been silent only."""
        if not self.ended:
            self.process.kill()
        self.process.stdin.close()
        status = self.process.wait()
        self.process.stdout.close()
        with self.errors:
            self.errors.seek(0)
            text = self.errors.read().decode("utf-8", "replace")
        if not self.ended:
            return "silent for too long"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        told = next((line for line in lines if line.startswith("what()")), lines[-1] if lines else "")
        name = signal.Signals(-status).name if status < 0 else f"status {status}"
        return f"{name}: {told}"[:LONGEST_TEXT]


class NoWorker(Exception):
    """A worker ended before it was ready: no GPU, or a package is missing."""


class Sweep:
    """Hands tasks to workers and keeps what they report, until nothing is left or the time is up."""

    def __init__(self, out: Path, command: Sequence[str] = WORKER, sample_seconds: float = SAMPLE_SECONDS) -> None:
        self.out = out
        self.partial = out.with_name(f"{out.name}.partial")
        self.command = command
        self.sample_seconds = sample_seconds
        self.lock = threading.Lock()
        self.tasks: list[Record] = []
        self.header, self.records = self._read()

    def run(self, workers: int, only: str, budget: float, samples: int) -> None:
        ends = time.monotonic() + budget
        first, ready = self._start()
        self.header = self.header or ready["ready"]
        self.tasks = self._tasks(ready["opinfos"], only, samples)
        running: list[Worker | None] = [first] + [None] * (workers - 1)
        with self.partial.open("w", encoding="utf-8") as self.stream:  # anew, for its last line may be torn
            self.stream.write(self._text())
            threads = [threading.Thread(target=self._work, args=(one, ends)) for one in running]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self._write()

    def _read(self) -> tuple[Record, dict[str, Record]]:
        """What earlier runs recorded; the last line of an interrupted one may be torn."""
        header: Record = {}
        records: dict[str, Record] = {}
        for path, opened in ((self.out, gzip.open), (self.partial, open)):
            if not path.exists():
                continue
            with opened(path, "rt", encoding="utf-8") as stream:
                for line in stream:
                    if line.endswith("\n"):
                        record = json.loads(line)
                        if "key" in record:
                            records[str(record["key"])] = record
                        else:
                            header = header or record
        return header, records

    def _text(self) -> str:
        lines = [self.header, *(self.records[key] for key in sorted(self.records))]
        return "".join(json.dumps(line) + "\n" for line in lines)

    def _write(self) -> None:
        with self.out.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as stream:
            stream.write(self._text().encode())
        self.partial.unlink()

    def _tasks(self, entries: list[str], only: str, samples: int) -> list[Record]:
        texts = [text for text in statements() if only in text]
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        listed: list[Record] = [{"statements": batch} for batch in batches]
        return [{"opinfo": name, "samples": samples} for name in reversed(entries) if only in name] + listed

    def _start(self) -> tuple[Worker, Record]:
        started = Worker(self.command)
        ready = started.hear(OTHER_SECONDS)
        if ready is None:
            raise NoWorker(f"a worker does not start: {started.end()}")
        return started, ready

    def _work(self, running: Worker | None, ends: float) -> None:
        while True:
            with self.lock:
                task = self.tasks.pop() if self.tasks and time.monotonic() < ends else None
            if task is None:
                break
            finished = False
            while not finished:
                fresh = running is None
                running = running or self._start()[0]
                alive, finished = self._follow(running, task, fresh)
                running = running if alive else None
        if running:
            running.process.stdin.close()  # which ends it
            running.hear(OTHER_SECONDS)
            running.end()

    def _follow(self, running: Worker, task: Record, fresh: bool) -> tuple[bool, bool]:
        """Whether the worker lives on, and whether the task is finished; what stopped a worker is recorded."""
        prefixes = tuple(f"statement/{text}" for text in task.get("statements", ())) or (f"{task['opinfo']}/",)
        with self.lock:
            skipped = [key for key in self.records if key.startswith(prefixes)]
        running.say({**task, "skip": skipped})
        begun: Record | None = None
        progress = False
        while (message := running.hear(self.sample_seconds if begun else OTHER_SECONDS)) is not None:
            if "done" in message:
                return True, True
            begun = message.get("begin")
            progress |= "begin" not in message
            if "end" in message:
                self._record(message["end"])
        died = running.end()
        if begun:
            self._record({**begun, "died": died})
        elif fresh and not progress:  # it died between samples, with no other task before, and would do so again
            self._record({"key": f"{prefixes[0]}task", "form": "task", "died": died})
            return False, True
        return False, False

    def _record(self, record: Record) -> None:
        with self.lock:
            self.records[str(record["key"])] = record
            self.stream.write(json.dumps(record) + "\n")
            self.stream.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--only", default="", help="entries and statements that hold this text")
    parser.add_argument("--budget", type=float, default=420.0, help="seconds after which no new task begins")
    parser.add_argument("--samples", type=int, default=8, help="samples of each OpInfo")
    arguments = parser.parse_args()
    started = time.monotonic()
    sweep = Sweep(arguments.out)
    try:
        sweep.run(arguments.workers, arguments.only, arguments.budget, arguments.samples)
    except NoWorker as error:
        sys.exit(f"{error}; this needs a GPU, and PyTorch with NumPy and expecttest")
    print(summary(sweep, time.monotonic() - started))


def summary(sweep: Sweep, seconds: float) -> str:
    records = list(sweep.records.values())
    kinds = Counter("statement" if one["form"] == "statement" else one.get("pass") for one in records)
    return (
        f"{len({one['opinfo'] for one in records if 'opinfo' in one})} OpInfos, {kinds['forward']} samples forward, "
        f"{kinds['backward']} backward, {kinds['statement']} statements, "
        f"{sum(one.get('captures') is False for one in records)} failed captures, "
        f"{sum('died' in one for one in records)} deaths, {len(sweep.tasks)} tasks left, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
