"""Captures of regions that were captured before in; graphs that pile up, or are made for one replay each, out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from graphlint.runtime.trace.capture import Capture, Trouble

_AGAIN = 3  # captures of the same work
_ONE_EACH = 8  # graphs of other shapes, each replayed once: as many as a table of buckets seldom has


class Growth:
    """Follows how often a region is captured."""

    def __init__(self) -> None:
        self._kept: dict[int, list[Capture]] = {}  # by the last one, those of the same work that are all kept

    def captured(
        self, capture: Capture, earlier: Sequence[Capture], is_alive: Callable[[Capture], bool]
    ) -> Iterator[Trouble]:
        """`earlier` are those of the same region, as often replayed as they are by now."""
        same = [one for one in earlier if one.work == capture.work]
        alive = [one for one in earlier if is_alive(one)]
        if len(same) >= _AGAIN - 1 and all(one.replays == 1 for one in same):
            yield Trouble("silent-eager", capture.stack, "the same work is captured anew for each replay")
        elif len(same) >= _AGAIN - 1 and all(map(is_alive, same)):
            self._kept[id(capture)] = [*same, capture]
        elif len(alive) >= _ONE_EACH - 1 and all(one.replays == 1 for one in alive):
            said = f"each of {len(alive) + 1} requests was given a graph of its own, and all are kept"
            yield Trouble("growing-memory", capture.stack, said)

    def ended(self) -> Iterator[tuple[Capture, Trouble]]:
        """Graphs of the same work that were kept, and left behind when the next one was made."""
        for same in self._kept.values():
            if sum(one.replays == 0 for one in same) >= _AGAIN - 1:
                said = f"the same work was captured {len(same)} times, and each graph keeps its memory"
                yield same[-1], Trouble("growing-memory", same[-1].stack, said)
