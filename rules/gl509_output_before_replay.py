"""An output of a graph is read before the graph has computed it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, OutputRead


def detect(event: OutputRead) -> Iterator[Hit]:
    doubtful = Confidence.LOW if event.is_returned else Confidence.MEDIUM
    yield Hit(Confidence.HIGH if event.is_known else doubtful)
