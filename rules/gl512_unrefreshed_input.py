"""A graph is replayed with what its inputs held before, and the data that the caller gave goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, StaleReplay


def detect(event: StaleReplay) -> Iterator[Hit]:
    names = ", ".join(f"`{name}`" for name in event.names)
    if event.is_unused:
        said = f"`{{operation}}` computes the last request again: {names} is never copied into what the graph reads"
    else:
        said = f"`{{operation}}` reads {names} of the call that captured, and no later call writes there"
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, said)
