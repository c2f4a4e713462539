"""An output of a graph is read before the graph has computed it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, OutputRead


def detect(event: OutputRead) -> Iterator[Hit]:
    if event.is_returned:
        yield Hit(Confidence.LOW)  # a capture with data of its own gives back what nobody reads
    else:
        yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM)
