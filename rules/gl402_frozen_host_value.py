"""A plain value of the host decides what a region does, and the program writes it between a capture and its replays."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostStateRead

_DECIDES = {
    "bound": "bounds a slice",
    "index": "picks an item",
    "count": "says how often a loop runs",
    "loop": "ends a loop",
    "branch": "decides a branch",
    "operand": "is an operand",
    "argument": "is an argument",
}
_MAX_PLACES = 3


def detect(event: HostStateRead) -> Iterator[Hit]:
    if event.by_region:
        when = "each time that the region runs in Python"
    elif event.is_surely_late:
        when = "after the capture"
    else:
        when = "outside of the region"
    places = " and ".join(event.written[:_MAX_PLACES])
    message = (
        f"`{{operation}}` {_DECIDES[event.use]} and is written at {places}, {when}: "
        "every replay keeps the value of the capture"
    )
    yield Hit(_confidence(event), message)


def _confidence(event: HostStateRead) -> Confidence:
    if event.use in ("operand", "argument") and not event.is_number:
        return Confidence.LOW  # it may be a tensor
    return Confidence.HIGH if event.is_surely_late else Confidence.MEDIUM
