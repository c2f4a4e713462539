"""Another thread calls what breaks a capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import ConcurrentCall, Confidence, Hit


def detect(event: ConcurrentCall) -> Iterator[Hit]:
    yield Hit(Confidence.MEDIUM)
