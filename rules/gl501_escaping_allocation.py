"""A tensor that the region allocated is kept by something that outlives it.

The function that opens the region is the one to keep its static outputs; whatever it calls is not.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Kept, Report, fresh_tensor


def detect(event: Kept) -> Iterator[Report]:
    fresh = fresh_tensor(event.value)
    if fresh is not None and not event.enlarges:
        yield Report(fresh.sure)
