"""A hook that runs in the region counts on the host, or fills a container; or it comes too late to run at all."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HookLate, HostStateWrite


def detect(event: HostStateWrite | HookLate) -> Iterator[Hit]:
    if isinstance(event, HookLate):
        said = "`{operation}` gives a hook to a module that a graph was captured with: replay does not call it"
        yield Hit(Confidence.MEDIUM, said, "register it before the capture, or do its work beside `graph.replay()`")
    elif event.in_hook:
        yield Hit(Confidence.HIGH if event.read else Confidence.MEDIUM)
