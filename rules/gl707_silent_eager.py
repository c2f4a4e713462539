"""Work that has a graph runs eagerly, or its graph is captured anew for each call."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import (
    Confidence,
    EagerBeside,
    Hit,
    ModeSwitched,
    NeverReplayed,
    Recapture,
    SizesPassedOver,
    Uncaptured,
)

_LEFT_OUT = {
    "host": (
        "`{operation}` makes an argument of what is compiled on the host, and that runs without its graph",
        "make it on the device",
    ),
    "written": (
        "`{operation}` writes to an argument of what is compiled, which runs without its graph",
        "keep it as a buffer of the module, or promise its address with `mark_static_address`",
    ),
}
_PASSED_OVER = {
    "last": (
        "`{operation}` goes on to the largest of ascending sizes: the graph of `{asked}` is passed over",
        "end the loop at the first size that is large enough",
    ),
    "first": (
        "`{operation}` takes the largest of descending sizes, which comes first, and passes over that of `{asked}`",
        "go through the sizes from the smallest on",
    ),
    "largest": (
        "`{operation}` takes the largest of all sizes, and passes over that of `{asked}`",
        "take the smallest that is large enough",
    ),
    "only": (
        "`{operation}` captures a single one of `{asked}`, and requests of the other sizes find no graph",
        "capture each size, or pad requests to the one that is captured",
    ),
}


def detect(
    event: Recapture | ModeSwitched | NeverReplayed | EagerBeside | Uncaptured | SizesPassedOver,
) -> Iterator[Hit]:
    if isinstance(event, SizesPassedOver):
        said, help_ = _PASSED_OVER[event.how]
        yield Hit(Confidence.MEDIUM, said.replace("{asked}", event.asked), help_)
        return
    if isinstance(event, EagerBeside) and event.is_unfound:
        said = "`{operation}` captures a graph that no call finds, though all of them look for one"
        yield Hit(Confidence.MEDIUM, said, "capture the sizes that are asked for, under the keys that are looked up")
        return
    if isinstance(event, EagerBeside):
        yield Hit(Confidence.MEDIUM, "`{operation}` runs eagerly what was captured, and the graph is never replayed")
        return
    if isinstance(event, NeverReplayed):
        said = "`{operation}` leaves a backward pass pending in each round, and what is compiled runs without its graph"
        yield Hit(Confidence.MEDIUM, said, "call it under `no_grad`, behind `cudagraph_mark_step_begin()`")
        return
    if isinstance(event, ModeSwitched):
        said = "`{operation}` puts a graphed module into another mode than it was graphed in, and its calls run eagerly"
        yield Hit(Confidence.HIGH, said)
        return
    if isinstance(event, Uncaptured):
        yield Hit(Confidence.MEDIUM, *_LEFT_OUT[event.why])
        return
    said = "`{operation}` captures the graph anew in each call, which costs more than replaying it saves"
    yield Hit(Confidence.HIGH, said, "capture once, and keep the graph beside its inputs and outputs")
