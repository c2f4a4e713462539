"""An optimizer of the program counts its steps on the host, where replay does not count."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, HostCount


def detect(event: HostCount) -> Iterator[Hit]:
    if event.is_optimizer:
        yield Hit(Confidence.HIGH)
