"""A region draws from a generator that the graph was never told of."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GeneratorUsed, Hit


def detect(event: GeneratorUsed) -> Iterator[Hit]:
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM)
