"""The host writes to pinned memory that a replay still copies from."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, PinnedTouched


def detect(event: PinnedTouched) -> Iterator[Hit]:
    if event.how == "written":
        said = "`{operation}` overwrites pinned memory that a replay may still copy from: nothing waits for it before"
        wait = "wait for an event that is recorded behind the replay, or use two buffers in turn"
        yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, said, wait)
