"""Work in, how its process ended out; nothing of it outlives its deadline, itself, or whoever waits for it.

A process stands between the one that waits and the one that works. It is the one to which processes fall that the
work has started and left, so it finds them all, also those in sessions of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import multiprocessing
import os
import re
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_WHERE = getattr(signal, "SIGUSR2", 0)  # asks the work where it is; a system without signals has no work here
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d+) in (?P<function>.+)')
_DIES_WITH_PARENT, _ADOPTS = 1, 36  # PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER, of Linux


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: `how` is empty where it did all its work; `frames` are where it was, innermost first."""

    how: str = ""
    frames: tuple[tuple[str, int, str], ...] = ()


def guarded(work: Callable[[], None], deadline: float, grace: float) -> Ending:
    """Do the work in a fork of this process, which is there for nothing else; how the fork ended.

    After `deadline` seconds, of which 0 stands for no deadline, it is asked where it is, and has `grace` seconds.
    """
    with contextlib.suppress(OSError):
        os.setsid()  # so that whoever waits can end everything at once
    _ask_system(_ADOPTS, 1)
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # they are read from the pipe
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as crash:
        worker = _forked(work, crash)
        status, is_late = _wait(worker, woken, deadline, grace)
        if status is None:
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)
        _end_all()
        frames = _frames(crash)
    return Ending(f"it was not done after {deadline:g} seconds" if is_late else died(status), frames)


def died(code: int | None) -> str:
    """The status with which a process ended, in words."""
    if code is not None and code < 0:
        names = {int(one): one.name for one in signal.Signals}
        return f"its process was ended by {names.get(-code, f'signal {-code}')}"
    return f"its process ended with status {code}"


def _forked(work: Callable[[], None], crash: IO[str]) -> int:
    """The process that does the work; where it crashes or is asked, it writes down the lines where it is."""
    guard = os.getpid()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is multi-threaded, use of fork", DeprecationWarning)
        worker = os.fork()
    if worker:
        return worker
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _ask_system(_DIES_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        _offer_to_the_memory_killer()
        os.dup2(2, 1)  # stdout is the report's
        faulthandler.enable(crash, all_threads=False)
        # The thread itself writes where it is: another one would read frames that change, and may crash.
        faulthandler.register(_WHERE, crash, all_threads=False)
        work()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status & 0xFF)  # a context that a target has broken may abort the way out


def _wait(worker: int, woken: int, deadline: float, grace: float) -> tuple[int | None, bool]:
    """The status of the worker, None where it has to be ended; and whether it is late."""
    parent = multiprocessing.parent_process()
    watched = [woken, parent.sentinel] if parent is not None else [woken]
    last, asked = time.monotonic() + deadline if deadline else None, False
    while True:
        found, status = os.waitpid(worker, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status), asked  # where it is asked in a bad moment, the answer ends it
        ready, _, _ = select.select(watched, [], [], None if last is None else max(0.0, last - time.monotonic()))
        if ready == [woken] and signal.SIGTERM not in os.read(woken, 4096):
            continue
        if ready or asked:
            return None, asked
        asked, last = True, time.monotonic() + grace
        os.kill(worker, _WHERE)


def _end_all() -> None:
    """End whatever the work has started and left; where processes end, theirs fall to this one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        with contextlib.suppress(OSError, ValueError):
            for child in children.read_text("utf-8").split():
                os.kill(int(child), signal.SIGKILL)
        try:
            if os.waitpid(-1, 0 if children.exists() else os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _frames(crash: IO[str]) -> tuple[tuple[str, int, str], ...]:
    """The lines where the work was when it crashed or was late."""
    crash.seek(0)
    return tuple((path, int(line), function) for path, line, function in _FRAME.findall(crash.read()))


def _ask_system(option: int, value: int) -> None:
    """Set a property of this process, where the system has it."""
    with contextlib.suppress(OSError, AttributeError):
        library: Any = ctypes.CDLL(None)
        library.prctl(option, value, 0, 0, 0)


def _offer_to_the_memory_killer() -> None:
    """Where the machine runs out of memory, the work is ended, and not who waits for it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
