"""Replays that warm up a graph change the state that the first request finds."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, RepeatedState


def detect(event: RepeatedState) -> Iterator[Hit]:
    if event.is_warm_up:
        said = "`{operation}` changes the state of the graph each time, and the first request finds what is left of it"
        yield Hit(Confidence.MEDIUM, said, "reset the state once the graph is warm, or do not replay before")
