"""An output of a graph is read before the graph has computed it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, OutputRead


def detect(event: OutputRead) -> Iterator[Hit]:
    if event.is_input:
        said = "`{operation}` replays a graph that reads an output of another one, which has not been replayed yet"
        yield Hit(Confidence.HIGH, said, "replay graphs in the order in which one reads what the other computes")
    elif event.is_returned:
        yield Hit(Confidence.LOW)  # a capture with data of its own gives back what nobody reads
    else:
        yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM)
