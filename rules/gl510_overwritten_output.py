"""An output of a graph is kept without a copy, and a later replay writes over it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, OutputKept


def detect(event: OutputKept) -> Iterator[Hit]:
    if event.how == "pool":
        said = "`{operation}` reads an output after a graph of its pool that was captured before it has replayed"
        yield Hit(Confidence.MEDIUM, f"{said}: that may work in the same memory", "read it, or copy it, before")
        return
    sure = Confidence.HIGH if event.is_known else Confidence.MEDIUM
    yield Hit(sure if event.is_overwritten else Confidence.LOW)
