"""A region launches nothing."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, EmptyGraph, Hit


def detect(event: EmptyGraph) -> Iterator[Hit]:
    yield Hit(Confidence.HIGH)
