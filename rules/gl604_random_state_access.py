"""A generator is seeded in a region, or its state set or read there."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, RandomState


def detect(event: RandomState) -> Iterator[Hit]:
    if event.is_in_force:
        return  # which is let through, and lost
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM)
