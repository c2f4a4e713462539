"""A hook that runs in the region counts on the host, or fills a container."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostStateWrite


def detect(event: HostStateWrite) -> Iterator[Hit]:
    if event.in_hook:
        yield Hit(Confidence.HIGH if event.read else Confidence.MEDIUM)
