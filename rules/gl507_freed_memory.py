"""A tensor that the graph reads belongs to a call that is over."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, InputFreed


def detect(event: InputFreed) -> Iterator[Hit]:
    said = f"`{{operation}}` reads a tensor of line {event.line} that nobody holds once this function is over"
    yield Hit(Confidence.HIGH, said + ", and replay reads its memory still")
