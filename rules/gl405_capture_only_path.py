"""A branch asks whether a capture is under way, and does less there than in eager mode."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import CaptureBranch, Confidence, Hit

_MAX_NAMES = 3


def detect(event: CaptureBranch) -> Iterator[Hit]:
    if event.is_flag:
        return  # what the program sets itself is a frozen value
    names = " and ".join(f"`{name}`" for name in event.left_out[:_MAX_NAMES])
    yield Hit(Confidence.HIGH, f"`{{operation}}` leaves out {names} under capture, and so does every replay")
