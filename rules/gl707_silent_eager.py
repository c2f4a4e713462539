"""A graph is captured anew for each call, which costs more than it saves."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, Recapture


def detect(event: Recapture) -> Iterator[Hit]:
    said = "`{operation}` captures the graph anew in each call, which costs more than replaying it saves"
    yield Hit(Confidence.HIGH, said, "capture once, and keep the graph beside its inputs and outputs")
