"""A block of a program that a capture refused in; what else captures refuse of it, as the watch hears it, out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from graphlint.runtime.compare.remembered import GoneError
from graphlint.runtime.compare.state import reachable_from
from graphlint.runtime.examine.rerun import BlockRerun, Variables, quiet
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.watch.watch import Watch

ATTEMPTS = 8  # captures, of which each goes past the operator that broke the last one


def capture_past(watch: Watch, rerun: BlockRerun, refused: Capture) -> None:
    """Capture the block again with what eager gives for each refused operator, as long as captures end properly."""
    captures = watch.captures
    number = len(captures)
    with contextlib.suppress(GoneError):
        for _ in range(ATTEMPTS):
            if not refused.is_healthy or not refused.refusals or not watch.recorder.go_past(refused.refusals[-1]):
                break
            with _undone(watch, rerun) as given, watch.recorder.unheard():
                rerun.run(given)  # for the values that the next capture goes on with
            with _undone(watch, rerun) as given, torch.cuda.graph(torch.cuda.CUDAGraph()):
                rerun.run(given)
            refused = captures[-1]
    del captures[number:]  # the program knows nothing of them


@contextlib.contextmanager
def _undone(watch: Watch, rerun: BlockRerun) -> Iterator[Variables]:
    """Inside, the block can run; how it fails has been heard, and what it does to the program is undone."""
    with watch.ignoring():
        given = rerun.given()
        before = reachable_from(rerun.roots(given, {})).snapshot()
    with contextlib.suppress(Exception), quiet(), rerun.ambient.entered():
        yield given
    with watch.ignoring():
        before.restore()
