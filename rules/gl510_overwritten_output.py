"""An output of a graph is kept without a copy, and a later replay writes over it."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import BufferShared, Confidence, Hit, InputAdopted, OutputKept


def detect(event: OutputKept | InputAdopted | BufferShared) -> Iterator[Hit]:
    if isinstance(event, BufferShared):
        said = (
            f"`{{operation}}` is the memory of `{event.one}` and of `{event.other}`: what is written for one of them "
            "before a replay is overwritten by what is for the other"
        )
        yield Hit(Confidence.MEDIUM, said, "give each of them a buffer of its own")
        return
    if isinstance(event, InputAdopted):
        said = (
            f"`{{operation}}` makes `{event.name}` of the first call an input as it is, and later calls write over it"
        )
        yield Hit(Confidence.MEDIUM, said, f"keep a copy for the graph: `{event.name}.clone()`")
        return
    if event.how == "pool":
        said = (
            "`{operation}` has an output that a graph of its pool, captured before it, may write over: it replays later"
        )
        yield Hit(Confidence.MEDIUM, said, "read the output, or copy it, before that replay")
        return
    if event.how == "summed":
        said = (
            "`{operation}` gives autograd what the graph writes: the first gradient of a parameter becomes its `.grad` "
            "as it is, and a replay for the next one writes over it"
        )
        yield Hit(Confidence.MEDIUM, said, "clone the gradients of parameters")
        return
    if event.how == "last":
        said = "`{operation}` takes the last rows of an output, and it is the first ones that were filled"
        yield Hit(Confidence.MEDIUM, said, "cut off what was filled, from the start")
        return
    if event.how == "threads":
        said = "`{operation}` runs in several threads, and one fills inputs and outputs over while another needs them"
        yield Hit(Confidence.MEDIUM, said, "hold a lock from the first copy to the last read, and wait for it there")
        return
    sure = Confidence.HIGH if event.is_known else Confidence.MEDIUM
    yield Hit(sure if event.is_overwritten else Confidence.LOW)
