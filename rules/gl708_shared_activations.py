"""A graphed callable runs again, or in another order, before backward has read what it saved."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import ActivationsOverwritten, Confidence, Hit


def detect(event: ActivationsOverwritten) -> Iterator[Hit]:
    if event.of == "order":
        said = "`{operation}` runs before the backward of a callable that was graphed behind it, and they share memory"
        yield Hit(Confidence.MEDIUM, said, "run backward from the last to the first, or graph them one by one")
    else:
        yield Hit(Confidence.HIGH)
