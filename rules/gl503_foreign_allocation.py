"""Torch makes a tensor while another library captures: its allocator knows of no capture then."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, Made


def detect(event: Made) -> Iterator[Hit]:
    if event.is_foreign:
        yield Hit(Confidence.MEDIUM)
