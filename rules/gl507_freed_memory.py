"""A tensor that the graph reads belongs to a call that is over, or an output to a graph that is gone."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, GraphDropped, Hit, InputFreed


def detect(event: InputFreed | GraphDropped) -> Iterator[Hit]:
    if isinstance(event, GraphDropped):
        said = "`{operation}` gives the memory of the graph back, and an output that lies in it is read later"
        yield Hit(Confidence.HIGH, said, "keep the graph as long as its outputs, or copy them first")
        return
    if event.by:
        said = f"`{{operation}}` keeps the graph, and nothing keeps `{event.by}`, whose tensors the graph reads"
        yield Hit(Confidence.LOW, said, "keep what the region reads beside the graph")
        return
    said = f"`{{operation}}` reads a tensor of line {event.line} that nobody holds once this function is over"
    yield Hit(Confidence.HIGH, said + ", and replay reads its memory still")
