"""Eager steps on the same inputs in, the first operator that the host decides otherwise in a later one out."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphlint.runtime.compare.divergence import Divergence
from graphlint.runtime.trace.operators import Traced
from graphlint.runtime.watch.decisions import Decisions

Steps = Callable[[], Iterable[Callable[[], object]]]


def redecided(steps: Steps) -> tuple[Divergence, int] | None:
    """How a step differs from the first one, and its position; None if none does. `steps` begins anew each time."""
    first, *later = _decisions(steps(), located=False)
    if all(one == first for one in later):
        return None
    first, *later = _decisions(steps(), located=True)  # lines cost time, and most targets need none
    for position, one in enumerate(later, 1):
        divergence = Divergence(first, one, one)
        if divergence.first()[1] != "nothing":
            return divergence, position
    return None


def _decisions(steps: Iterable[Callable[[], object]], *, located: bool) -> list[list[Traced]]:
    found = []
    for step in steps:
        with Decisions(located=located) as decisions:
            step()
        found.append(decisions.made)
    return found
