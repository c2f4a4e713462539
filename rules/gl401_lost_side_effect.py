"""Host state that the region changes once, and state of the device that replays change before the first request.

A count matters where somebody looks at it who counts on every run.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostStateWrite, RepeatedState


def detect(event: HostStateWrite | RepeatedState) -> Iterator[Hit]:
    if isinstance(event, RepeatedState):
        yield from _repeated(event)
    elif event.is_schedule:
        yield Hit(Confidence.HIGH)
    elif not event.in_hook:
        places = " and ".join(event.read)
        said = (
            f"`{{operation}}` changes Python state that is read at {places}, once, at capture, and no replay repeats it"
        )
        counts = event.read and not event.is_handed and not event.fills
        yield Hit(Confidence.MEDIUM, said) if counts else Hit(Confidence.LOW)


def _repeated(event: RepeatedState) -> Iterator[Hit]:
    if event.is_warm_up:
        said = "`{operation}` changes the state of the graph each time, and the first request finds what is left of it"
        yield Hit(Confidence.MEDIUM, said, "reset the state once the graph is warm, or do not replay before")
