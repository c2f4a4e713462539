"""Counts of work done in; a progress bar on a terminal out, once a run lasts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TextIO

import click

PATIENCE = 1.0
PACE = 0.1


@contextlib.contextmanager
def progress_on(stream: TextIO) -> Iterator[Callable[[int, int], None] | None]:
    """What to call with the work done and the work in all; None where nobody watches."""
    if not stream.isatty():
        yield None
        return
    bar = click.progressbar(length=1, label="checking", file=stream)
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
            bar.length = total
            bar.update(done - bar.pos)

        yield advance
