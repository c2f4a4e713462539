"""Host state that the region changes once, and state of the device that replays change before the first request.

A count matters where somebody looks at it who counts on every run.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostStateWrite, RandomState, RepeatedState


def detect(event: HostStateWrite | RepeatedState | RandomState) -> Iterator[Hit]:
    if isinstance(event, RandomState):
        if event.is_in_force:
            said = "`{operation}` seeds once, at capture: each replay goes on behind the numbers of the last one"
            yield Hit(Confidence.HIGH, said, "seed before each replay: a registered generator follows")
    elif isinstance(event, RepeatedState):
        yield from _repeated(event)
    elif event.is_schedule:
        yield Hit(Confidence.HIGH)
    elif not event.in_hook:
        places = " and ".join(event.read)
        said = (
            f"`{{operation}}` changes Python state that is read at {places}, once, at capture, and no replay repeats it"
        )
        counts = event.read and not (event.is_handed or event.fills or event.is_shown)
        yield Hit(Confidence.MEDIUM, said) if counts else Hit(Confidence.LOW)


def _repeated(event: RepeatedState) -> Iterator[Hit]:
    if event.is_warm_up:
        said = "`{operation}` changes the state of the graph each time, and the first request finds what is left of it"
        yield Hit(Confidence.MEDIUM, said, "reset the state once the graph is warm, or do not replay before")
