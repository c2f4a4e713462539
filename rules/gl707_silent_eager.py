"""Work that has a graph runs eagerly, or its graph is captured anew for each call."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, EagerBeside, Hit, ModeSwitched, NeverReplayed, Recapture, Uncaptured

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


def detect(event: Recapture | ModeSwitched | NeverReplayed | EagerBeside | Uncaptured) -> Iterator[Hit]:
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
