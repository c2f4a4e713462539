"""Code that a capture refused in, what else captures refuse of it, as the watch hears it, out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator

import torch

from graphlint.runtime.compare.remembered import GoneError
from graphlint.runtime.compare.state import reachable_from
from graphlint.runtime.examine.rerun import BlockRerun, Variables, quiet
from graphlint.runtime.trace.capture import Capture
from graphlint.runtime.watch.recorder import Recorder
from graphlint.runtime.watch.watch import Watch

_ATTEMPTS = 8  # captures, of which each goes past the operator that broke the last one


def go_past(recorder: Recorder, captures: Iterator[Capture], is_last: Callable[[Capture], bool]) -> None:
    """Ask for captures of the same code, each past the operator that the one before was refused, until one `is_last`.

    Between two, the code has to run eagerly, for the values that the next one goes on with.
    """
    for capture in itertools.islice(captures, _ATTEMPTS):
        if is_last(capture) or not capture.refusals or not recorder.go_past(capture.refusals[-1]):
            break


def capture_past(watch: Watch, rerun: BlockRerun, refused: Capture) -> None:
    """Capture the block again with what eager gives for each refused operator, as long as captures end properly."""
    number = len(watch.captures)
    with contextlib.suppress(GoneError):
        go_past(watch.recorder, _captures(watch, rerun, refused), lambda capture: not capture.is_healthy)
    del watch.captures[number:]  # the program knows nothing of them


def _captures(watch: Watch, rerun: BlockRerun, refused: Capture) -> Iterator[Capture]:
    while True:
        yield refused
        with _undone(watch, rerun) as given, watch.recorder.unheard():
            rerun.run(given)
        with _undone(watch, rerun) as given, torch.cuda.graph(torch.cuda.CUDAGraph()):
            rerun.run(given)
        refused = watch.captures[-1]


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
