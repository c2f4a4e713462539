"""A tensor that the region allocated is kept by something that outlives it.

The function that opens the region is the one to keep its static outputs; whatever it calls is not. What is made of
values of the host is uploaded there, which refuses the capture, so that no graph has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, StateBorn, StateWrite, fresh_tensor


def detect(event: StateWrite | StateBorn) -> Iterator[Hit]:
    if isinstance(event, StateBorn):
        if event.is_own:
            yield Hit(Confidence.MEDIUM)
        elif event.in_cache:
            said = "`{operation}` keeps a tensor in a cache that was empty, and its memory belongs to the graph"
            yield Hit(Confidence.HIGH, said, "call it once before the region")
        return
    fresh = fresh_tensor(event.value)
    if fresh is not None and not event.enlarges:
        is_refused = fresh.literal and not fresh.pinned
        sure = min(fresh.sure, Confidence.MEDIUM) if event.may_be_held else fresh.sure
        yield Hit(Confidence.LOW if event.is_passed_on or is_refused else sure)
