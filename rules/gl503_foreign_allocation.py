"""Torch makes a tensor while another library captures: its allocator knows of no capture then."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Made, Report


def detect(event: Made) -> Iterator[Report]:
    if event.is_foreign:
        yield Report(Confidence.MEDIUM)
