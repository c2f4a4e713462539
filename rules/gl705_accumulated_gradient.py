"""A graph adds to what nothing zeroes: gradients that were there before the region, or a sum that was reset once."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GradientFound, Hit, RepeatedState


def detect(event: GradientFound | RepeatedState) -> Iterator[Hit]:
    if isinstance(event, GradientFound):
        yield Hit(Confidence.HIGH)
    elif not event.is_warm_up:
        said = "`{operation}` adds to a sum that was reset before the capture, and that no replay resets"
        yield Hit(Confidence.MEDIUM, said, "reset the sum inside the region, or before each replay")
