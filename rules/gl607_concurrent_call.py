"""Another thread calls what breaks a capture, or several call what is compiled to replay graphs."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import ConcurrentCall, Confidence, Hit

_COMPILED = (
    "`{operation}` runs in several threads, and graphs of what is compiled belong to the thread that recorded them"
)
_ALONE = (
    'let one thread make all these calls (`max_workers=1`), warm-up too, or compile without `mode="reduce-overhead"`'
)


def detect(event: ConcurrentCall) -> Iterator[Hit]:
    if event.how == "compiled":
        yield Hit(Confidence.MEDIUM, _COMPILED, _ALONE)
    else:
        yield Hit(Confidence.MEDIUM)
