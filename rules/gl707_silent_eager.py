"""Work that has a graph runs eagerly, or its graph is captured anew for each call."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, EagerBeside, Hit, ModeSwitched, NeverReplayed, Recapture


def detect(event: Recapture | ModeSwitched | NeverReplayed | EagerBeside) -> Iterator[Hit]:
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
    said = "`{operation}` captures the graph anew in each call, which costs more than replaying it saves"
    yield Hit(Confidence.HIGH, said, "capture once, and keep the graph beside its inputs and outputs")
