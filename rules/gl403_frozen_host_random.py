"""A number that the host draws, or that a clock shows, decides what the region does."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostDraw


def detect(event: HostDraw) -> Iterator[Hit]:
    if event.kind == "draws":
        yield Hit(Confidence.HIGH)
    elif event.kind == "clocks":
        message = "`{operation}` reads a clock of the host once, at capture, and every replay keeps its time"
        yield Hit(Confidence.LOW if event.is_awaited else Confidence.HIGH, message)
