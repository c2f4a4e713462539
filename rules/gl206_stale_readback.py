"""The host reads pinned memory that a replay may not have filled yet."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, PinnedTouched


def detect(event: PinnedTouched) -> Iterator[Hit]:
    if event.how == "read":
        said = "`{operation}` reads pinned memory that a replay copies into, and nothing waits for the replay"
        yield Hit(Confidence.HIGH, said, "record an event behind the replay, and wait for it before the host reads")
