"""Seconds in; code that is interrupted when they are over out."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

DEADLINE = 600.0  # seconds that a target has, if nobody says otherwise


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what runs for longer; code that never comes back to Python is not interrupted.

    Only the main thread of a POSIX process can be interrupted; elsewhere there is no deadline. A timer that somebody
    else has set goes on afterwards.
    """
    if not seconds or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"it was not done after {seconds:g} seconds")

    started = time.monotonic()
    handler = signal.signal(signal.SIGALRM, interrupt)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 1e-3), interval)
