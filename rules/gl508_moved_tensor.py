"""A tensor that the graph reads is replaced, or given other memory, and replay reads the old one."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, InputReplaced


def detect(event: InputReplaced) -> Iterator[Hit]:
    name = f"`{event.name}`" if event.name else "this tensor"
    said = (
        f"`{{operation}}` replaces {name}, which the graph of line {event.region_line} reads: replay reads the old one"
    )
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, said)
