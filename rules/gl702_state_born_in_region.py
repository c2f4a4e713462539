"""An optimizer, a scaler or a lazy layer is called for the first time in the region, and makes its state there."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, StateBorn


def detect(event: StateBorn) -> Iterator[Hit]:
    if not event.in_cache:
        yield Hit(Confidence.HIGH)
