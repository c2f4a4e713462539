"""A mode that eager code sees, and a replay does not."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, ModeIgnored

_SAID = {
    "autocast": "`{operation}` changes what eager code computes; the graph was captured and replays without it",
    "training": "`{operation}` switches the mode of a module that a graph was captured with: replay keeps the other",
}
_HELP = {
    "autocast": "capture under `torch.autocast(..., cache_enabled=False)`",
    "training": "capture one graph for each mode",
}


def detect(event: ModeIgnored) -> Iterator[Hit]:
    yield Hit(Confidence.MEDIUM, _SAID[event.of], _HELP[event.of])
