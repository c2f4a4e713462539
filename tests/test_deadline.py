"""Code that runs for too long is interrupted, and nobody else's timer is lost."""

from __future__ import annotations

import signal
import threading

import pytest

from graphlint.deadline import deadline

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")


def forever() -> None:
    while True:
        pass


def test_what_runs_for_too_long_is_interrupted() -> None:
    """With an error that names the deadline; afterwards no timer is left."""
    with pytest.raises(TimeoutError, match=r"it was not done after 0\.01 seconds"), deadline(0.01):
        forever()
    assert (0.0, 0.0) == signal.getitimer(signal.ITIMER_REAL)


@pytest.mark.parametrize("seconds", [0, 1000])
def test_what_is_done_in_time_is_left_alone(seconds: float) -> None:
    """Zero seconds stand for no deadline at all."""
    with deadline(seconds):
        assert bool(seconds) == bool(signal.getitimer(signal.ITIMER_REAL)[0])
    assert (0.0, 0.0) == signal.getitimer(signal.ITIMER_REAL)


def test_the_timer_of_somebody_else_goes_on() -> None:
    """With its handler, and the time that it has left."""

    def handler(_signal: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 2000)
        with deadline(1000):
            assert signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
        assert 1000 < signal.getitimer(signal.ITIMER_REAL)[0] <= 2000
        assert handler is signal.getsignal(signal.SIGALRM)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_another_thread_has_no_deadline() -> None:
    """Signals come to the main thread alone."""
    timers: list[float] = []

    def work() -> None:
        with deadline(1000):
            timers.append(signal.getitimer(signal.ITIMER_REAL)[0])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [0.0] == timers
