"""What other threads write is not seen, unless they are known to write nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

pytest.importorskip("torch")

from graphlint.runtime.judge.inputs import _others_may_write


def waiting(event: threading.Event) -> Callable[[], None]:
    """What a thread does until it may end."""

    def wait() -> None:
        event.wait()

    return wait


@pytest.mark.parametrize(
    ("module", "may_write"),
    [
        ("torch._inductor.compile_worker.subproc_pool", False),
        ("serve.feeder", True),
        ("concurrent.futures.thread", True),
    ],
)
def test_a_thread_of_the_compiler_writes_to_no_input(module: str, may_write: bool) -> None:
    """A pool may run anything."""
    before, event = _others_may_write(), threading.Event()
    work = waiting(event)
    work.__module__ = module
    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert _others_may_write() is (before or may_write)
    finally:
        event.set()
        thread.join()
    assert _others_may_write() is before
