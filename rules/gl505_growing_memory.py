"""State that outlives the region grows in it: a buffer is made anew once it is too small, a list gets one more."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Growth, Hit, StateWrite, fresh_tensor


def detect(event: StateWrite | Growth) -> Iterator[Hit]:
    fresh = fresh_tensor(event.value)
    if fresh is not None and (isinstance(event, Growth) or event.enlarges):
        yield Hit(fresh.sure)
