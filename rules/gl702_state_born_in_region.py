"""State that only the first call makes is made in a region."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, StateBorn


def detect(event: StateBorn) -> Iterator[Hit]:
    if not (event.is_own or event.in_cache):
        yield Hit(Confidence.HIGH)
