"""Several threads replay one graph, over the same inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import ConcurrentReplay, Confidence, Hit


def detect(event: ConcurrentReplay) -> Iterator[Hit]:
    said = "`{operation}` replays one graph from several threads, which write and read the same static tensors at once"
    yield Hit(Confidence.MEDIUM, said, "hold a lock from the copy into the inputs to the copy of the outputs")
