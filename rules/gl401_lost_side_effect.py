"""The region counts on the host, or fills a container, and somebody looks at it who counts on every run."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostStateWrite


def detect(event: HostStateWrite) -> Iterator[Hit]:
    if event.in_hook:
        return
    if event.is_schedule:
        yield Hit(Confidence.HIGH)
    elif event.read and not event.is_handed:
        places = " and ".join(event.read)
        message = (
            f"`{{operation}}` changes Python state that is read at {places}, once, at capture, and no replay repeats it"
        )
        yield Hit(Confidence.HIGH, message)
    else:
        yield Hit(Confidence.LOW)
