"""A target in, the messages of a process of its own out, and how that process ended."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from graphlint.errors import UsageError
from graphlint.runtime.session.guard import Ending, died, guarded

_SAFE_PATH, _OURS = "PYTHONSAFEPATH", "of graphlint"  # any text has the same meaning
GRACE = 5.0  # seconds between the deadline, when the process is asked where it is, and its end

Work = Callable[[Callable[[Any], None]], None]


def require_fork() -> None:
    """Raises UsageError on a system without."""
    if not hasattr(os, "fork"):
        raise UsageError("`verify` and the emulator need a system with `fork`: Linux, macOS, or WSL on Windows")


def server() -> Any:
    """Where processes come from: one that has loaded torch and no CUDA, so that each is there in a moment.

    Raises UsageError on a system that has no fork.
    """
    require_fork()
    context = multiprocessing.get_context("forkserver")
    names = [
        "torch",
        "graphlint.cli",  # each process runs the script of the command again, as far as it is not the main one
        "graphlint.runtime.session.isolation",
        "graphlint.runtime.session.preloaded",
    ]
    context.set_forkserver_preload(names)
    return context


def run_isolated(context: Any, work: Work, deadline: float, heard: Callable[[Any], None]) -> Ending:
    """Do the work in a process of its own and hear what it sends, which is not lost if it dies.

    It ends with whoever waits for it here, however that ends, and after `deadline` seconds, of which 0 stands for no
    deadline. So does whatever it has started.
    """
    receiver, sender = context.Pipe(duplex=False)
    ended, ends = context.Pipe(duplex=False)
    with receiver, ended:
        process = context.Process(target=_guard, args=(work, sender, ends, deadline, GRACE), daemon=False)
        with _safe_path(), warnings.catch_warnings():
            # The threads of this process do not run in a fork of it, as is well known.
            warnings.filterwarnings("ignore", ".*is multi-threaded, use of fork", DeprecationWarning)
            process.start()
        sender.close()
        ends.close()
        try:
            if _listen(process, receiver, heard):
                process.join(GRACE)
                return Ending()
            process.join()
            return ended.recv() if ended.poll() else Ending(died(process.exitcode))
        finally:
            _end(process)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Python that is started here does not take its own modules from the working directory, which is the target's."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = before or _OURS
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]


def _listen(process: Any, receiver: Connection, heard: Callable[[Any], None]) -> bool:
    """Hear what the process sends until it ends; whether it did all its work."""
    while receiver in wait([receiver, process.sentinel]):  # a child of the process may keep the connection open
        try:
            message = receiver.recv()
        except EOFError:
            break
        if message is None:
            return True
        heard(message)
    return False


def _guard(work: Work, sender: Connection, ends: Connection, deadline: float, grace: float) -> None:
    """The process that stands between: it forks the one that works, and says how that one ended."""
    ends.send(guarded(functools.partial(_work, work, sender), deadline, grace))
    os._exit(0)


def _work(work: Work, sender: Connection) -> None:
    multiprocessing.set_start_method(None, force=True)  # that of this process is no choice of the target
    if os.environ.get(_SAFE_PATH) == _OURS:
        del os.environ[_SAFE_PATH]
    work(sender.send)
    sender.send(None)


def _end(process: Any) -> None:
    """End the process if it lives, which ends what the work has left before it goes."""
    process.terminate()
    process.join(GRACE)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.is_alive():
        process.kill()
        process.join()
