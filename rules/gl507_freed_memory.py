"""A tensor that the graph reads belongs to a call that is over, or an output went with its graph."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GraphDropped, Hit, InputFreed


def detect(event: InputFreed | GraphDropped) -> Iterator[Hit]:
    if isinstance(event, GraphDropped):
        said = "`{operation}` reads an output of another graph, and both are dropped before a replay reads its memory"
        yield Hit(Confidence.HIGH, said, "keep the output beside the graph that reads it")
        return
    if event.by:
        said = f"`{{operation}}` keeps the graph, and nothing keeps `{event.by}`, whose tensors the graph reads"
        sure = Confidence.LOW
        if event.given_at is not None:
            sure, said = Confidence.MEDIUM, f"{said}: some of them are made for the call at {event.given_at}"
        yield Hit(sure, said, "keep what the region reads beside the graph")
        return
    if event.is_given_up:
        said = f"`{{operation}}` gives up a tensor of line {event.line}, and replay reads its memory still"
        yield Hit(Confidence.HIGH, said)
        return
    said = f"`{{operation}}` reads a tensor of line {event.line} that nobody holds once this function is over"
    yield Hit(Confidence.HIGH, said + ", and replay reads its memory still")
