"""Work on a stream that was forked into the capture, and that the capturing stream never waits for."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, LooseEnd


def detect(event: LooseEnd) -> Iterator[Hit]:
    if event.of == "collective":
        said = "`{operation}` runs on a stream of its own, and the region ends without waiting for its handle"
        yield Hit(Confidence.MEDIUM, said, "call `wait()` of what it returns, inside the region")
    else:
        said = "`{operation}` is the last work on a side stream of this capture, and nobody waits for it before the end"
        yield Hit(Confidence.HIGH, said)
