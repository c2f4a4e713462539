"""An input is filled up to where this request ends, and behind that the graph still reads an earlier one.

Where outputs are cut in the same way, and no input is reset, rows are likely computed one by one.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, PartialFill


def detect(event: PartialFill) -> Iterator[Hit]:
    said = f"`{{operation}}` fills what the graph reads up to `{event.bound}`, and the rest is of an earlier request"
    is_harmless = event.is_output_cut and not event.others_reset
    yield Hit(Confidence.LOW if is_harmless else Confidence.MEDIUM, said)
