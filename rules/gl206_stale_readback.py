"""The host reads memory that a replay, or a copy of what a replay gives, may not have filled yet."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, PinnedTouched


def detect(event: PinnedTouched) -> Iterator[Hit]:
    if event.how == "read":
        said = "`{operation}` reads pinned memory that a replay copies into, and nothing waits for the replay"
        yield Hit(Confidence.HIGH, said, "record an event behind the replay, and wait for it before the host reads")
    if event.how == "fetched":
        said = "`{operation}` reads what is still being copied from an output of the graph: nothing waits for the copy"
        wait = "copy without `non_blocking`, or wait for an event that is recorded behind it"
        yield Hit(Confidence.MEDIUM, said, wait)
