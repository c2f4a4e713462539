"""The gradients that a graph writes are dropped before it is replayed."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GradientDropped, Hit


def detect(event: GradientDropped) -> Iterator[Hit]:
    said = "`{operation}` drops the gradients that the graph writes: after a replay, `.grad` is still None"
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, said)
