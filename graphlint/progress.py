"""Counts of work done in; a progress bar on a terminal out, once a run lasts, which only moves forward."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TextIO

import click

PATIENCE = 1.0
PACE = 0.1
STEPS = 1000


@contextlib.contextmanager
def progress_on(stream: TextIO) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the work done and the work in all; None where nobody watches."""
    if not stream.isatty():
        yield None
        return
    bar = click.progressbar(length=STEPS, label="checking", file=stream)
    due = time.monotonic() + PATIENCE
    with contextlib.ExitStack() as shown:

        def advance(done: int, total: int) -> None:
            nonlocal due
            now = time.monotonic()
            if now < due:
                return
            due = now + PACE
            if not bar.entered:
                shown.enter_context(bar)
            bar.update(max(0, STEPS * done // max(total, 1) - bar.pos))  # more work may turn up than was known

        yield advance
