"""A graph is replayed with what its inputs held before, and the data that the caller gave goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, StaleReplay


def detect(event: StaleReplay) -> Iterator[Hit]:
    names = ", ".join(f"`{name}`" for name in event.unused)
    said = f"`{{operation}}` computes the last request again: {names} is never copied into what the graph reads"
    yield Hit(Confidence.HIGH, said)
