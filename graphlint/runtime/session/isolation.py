"""A target in, the messages of a process of its own out, and how that process ended."""

from __future__ import annotations

import contextlib
import faulthandler
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

GRACE = 5.0  # seconds between the deadline, when the process is asked where it is, and its end
_WHERE = signal.SIGUSR2  # asks for that
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+) in (?P<function>.+)')

Work = Callable[[Callable[[Any], None]], None]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: `how` is empty where it did all its work; `frames` are where it was, innermost first."""

    how: str = ""
    frames: tuple[tuple[str, int, str], ...] = ()


def server() -> Any:
    """Where processes come from: one that has loaded torch and no CUDA, so that each is there in a moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["torch", "graphlint.runtime.session.isolation", "graphlint.runtime.session.preloaded"]
    )
    return context


def run_isolated(context: Any, work: Work, deadline: float, heard: Callable[[Any], None]) -> Ending:
    """Do the work in a process of its own and hear what it sends, which is not lost if it dies.

    It ends with whoever waits for it here, and after `deadline` seconds, of which 0 stands for no deadline.
    """
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="graphlint-") as folder, receiver:
        crash = Path(folder, "crash")
        process = context.Process(target=_work, args=(work, sender, crash), daemon=False)
        with warnings.catch_warnings():  # the threads of this process do not run in a fork of it, as is well known
            warnings.filterwarnings("ignore", ".*is multi-threaded, use of fork", DeprecationWarning)
            process.start()
        sender.close()
        try:
            done, late = _listen(process, receiver, deadline, heard)
        finally:
            _end(process)
        frames = _frames(crash)
    if done:
        return Ending()
    if late:
        return Ending(f"it was not done after {deadline:g} seconds", frames)
    return Ending(_died(process.exitcode), frames)


def _listen(process: Any, receiver: Connection, deadline: float, heard: Callable[[Any], None]) -> tuple[bool, bool]:
    """Hear what the process sends until it ends or is late; whether it did all its work, and whether it was late."""
    last, asked = time.monotonic() + deadline if deadline else None, False
    while True:
        ready = wait([receiver, process.sentinel], last and max(0.0, last - time.monotonic()))
        if not ready and asked:
            return False, True
        if not ready:
            asked, last = True, time.monotonic() + GRACE
            os.kill(process.pid, _WHERE)
            continue
        if receiver not in ready:  # a child of the process may keep the connection open beyond its end
            break
        try:
            message = receiver.recv()
        except EOFError:
            break
        if message is None:
            process.join(GRACE)
            return True, False
        heard(message)
    process.join(GRACE)
    return False, asked  # where it is asked in a bad moment, the answer ends it


def _work(work: Work, sender: Connection, crash: Path) -> None:
    """The process: what the target prints goes to stderr, since stdout is the report's."""
    with contextlib.suppress(OSError):
        os.setsid()  # so that its children end with it
    os.dup2(2, 1)
    with crash.open("w", encoding="utf-8") as file:
        faulthandler.enable(file, all_threads=False)
        # The thread itself writes where it is: another one would read frames that change, and may crash.
        faulthandler.register(_WHERE, file, all_threads=False)
        work(sender.send)
        sender.send(None)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # a context that a target has broken may abort the way out


def _end(process: Any) -> None:
    """End the process if it lives, and the children that it has left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.is_alive():
        process.kill()
        process.join()


def _died(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with status {code}"


def _frames(crash: Path) -> tuple[tuple[str, int, str], ...]:
    """The lines where the process was when it crashed or was late."""
    try:
        found = _FRAME.findall(crash.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ()
    return tuple((path, int(line), function) for path, line, function in found)
