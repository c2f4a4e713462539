"""Work of a region on a stream that takes no part in its capture."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, WorkOutside

_STREAMS = {"default": "the default stream", "side": "a side stream that was never forked from the capture"}


def detect(event: WorkOutside) -> Iterator[Hit]:
    if event.where == "device":
        said = "`{operation}` captures on a stream of the current device, and the region works on another one"
        yield Hit(Confidence.MEDIUM, said, "capture inside `with torch.cuda.device(...)` of the device that works")
    elif event.where == "library":
        said = (
            "`{operation}` runs on the current stream of its library: it is done once, at capture, and never at replay"
        )
        yield Hit(Confidence.MEDIUM, said, "make torch's current stream that of the library, or hand it to the launch")
    else:
        said = (
            "`{operation}` runs on "
            + _STREAMS[event.where]
            + ": it is done once, at capture, and no replay does it again"
        )
        yield Hit(Confidence.HIGH, said)
