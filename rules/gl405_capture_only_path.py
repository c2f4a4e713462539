"""A branch does less while a capture is under way, or a mode that eager code sees does nothing to a replay."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import CaptureBranch, Confidence, Hit, ModeIgnored

_MAX_NAMES = 3
_SAID = {
    "autocast": "`{operation}` changes what eager code computes; the graph was captured and replays without it",
    "casts": "`{operation}` keeps the weights that it cast before the region, and the graph reads those for good",
    "training": "`{operation}` switches the mode of a module that a graph was captured with: replay keeps the other",
}
_HELP = {
    "autocast": "capture under `torch.autocast(..., cache_enabled=False)`",
    "casts": "pass `cache_enabled=False`, or enter it in the region alone",
    "training": "capture one graph for each mode",
}


def detect(event: CaptureBranch | ModeIgnored) -> Iterator[Hit]:
    if isinstance(event, ModeIgnored):
        yield Hit(Confidence.MEDIUM, _SAID[event.of], _HELP[event.of])
    elif not event.is_flag:  # what the program sets itself is a frozen value
        names = " and ".join(f"`{name}`" for name in event.left_out[:_MAX_NAMES])
        said = f"`{{operation}}` leaves out {names} under capture, and so does every replay"
        yield Hit(Confidence.MEDIUM if event.is_known else Confidence.LOW, said)  # it may be done elsewhere
