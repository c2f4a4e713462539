"""A capture of a region that was captured before in; graphs that pile up, or are made for one replay each, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from graphlint.runtime.trace.capture import Capture, Trouble

_AGAIN = 3  # captures of the same work
_ONE_EACH = 8  # graphs of other shapes, each replayed once: as many as a table of buckets seldom has


def captured_again(
    capture: Capture, earlier: Sequence[Capture], is_alive: Callable[[Capture], bool]
) -> Iterator[Trouble]:
    """`earlier` are those of the same region, as often replayed as they are by now."""
    same = [one for one in earlier if one.work == capture.work]
    alive = [one for one in earlier if is_alive(one)]
    if len(same) >= _AGAIN - 1 and all(one.replays <= 1 for one in same):
        if all(map(is_alive, same)):
            said = f"the same work was captured {len(same) + 1} times, and each graph keeps its memory"
            yield Trouble("growing-memory", capture.stack, said)
        elif all(one.replays for one in same):
            yield Trouble("silent-eager", capture.stack, "the same work is captured anew for each replay")
    elif len(alive) >= _ONE_EACH - 1 and all(one.replays == 1 for one in alive):
        said = f"each of {len(alive) + 1} requests was given a graph of its own, and all are kept"
        yield Trouble("growing-memory", capture.stack, said)
