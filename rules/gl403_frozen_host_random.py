"""A number that the host draws, or that a clock shows, decides what the region does."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, HandedSeed, Hit, HostDraw


def detect(event: HostDraw | HandedSeed) -> Iterator[Hit]:
    if isinstance(event, HandedSeed):
        message = f"a kernel takes `{event.name}` by value at {event.used}, and every replay draws the same"
        yield Hit(Confidence.MEDIUM, message, "take the seed in a device tensor, and read it in the kernel")
    elif event.kind == "draws":
        yield Hit(Confidence.HIGH)
    elif event.kind == "clocks":
        message = "`{operation}` reads a clock of the host once, at capture, and every replay keeps its time"
        yield Hit(Confidence.LOW if event.is_awaited else Confidence.HIGH, message)
