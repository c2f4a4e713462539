"""A plain value of the host decides what a region does, and the program writes it between a capture and its replays."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import (
    CaptureBranch,
    Confidence,
    ContractBroken,
    EagerArgument,
    ExampleValue,
    Hit,
    HostDraw,
    HostStateRead,
    IncompleteKey,
    MemoKept,
    RequestNumber,
    StaleMemo,
)

_DECIDES = {
    "bound": "bounds a slice",
    "index": "picks an item",
    "count": "says how often a loop runs",
    "loop": "ends a loop",
    "branch": "decides a branch",
    "operand": "is an operand",
    "argument": "is an argument",
    "handed": "is an argument",
    "item": "picks an item",
}
_MAX_PLACES = 3


def detect(
    event: HostStateRead
    | HostDraw
    | IncompleteKey
    | MemoKept
    | CaptureBranch
    | StaleMemo
    | ExampleValue
    | ContractBroken
    | EagerArgument
    | RequestNumber,
) -> Iterator[Hit]:
    match event:
        case HostStateRead():
            yield _of_state(event)
        case ContractBroken(demand="tensors"):
            message = f"`{{operation}}` is given `{event.name}` by the host, and every replay has that of the capture"
            yield Hit(Confidence.MEDIUM, message, "give it a tensor on the device, and fill that before each replay")
        case HostDraw(kind="next"):
            yield Hit(Confidence.HIGH, "`{operation}` takes an item once, at capture: every replay has that one again")
        case ExampleValue(is_size=True):
            message = "`{operation}` ends where the data of the capture ends, and every replay reads so much"
            yield Hit(Confidence.LOW, message, "capture with all of the buffer, or keep a graph for each size")
        case ExampleValue(is_given=True):
            message = "`{operation}` reads a number out of what is filled later, and every replay has that of before"
            yield Hit(Confidence.MEDIUM, message, "take the largest that a replay may have, or keep it on the device")
        case ExampleValue():
            message = "`{operation}` is of the data that the capture is made with, and bounds what every replay reads"
            yield Hit(Confidence.MEDIUM, message, "capture with the largest size that a replay may have")
        case CaptureBranch(is_flag=True):
            message = "`{operation}` is asked once, under capture, and every replay does without what eager mode does"
            yield Hit(Confidence.HIGH, message)
        case StaleMemo():
            places = " and ".join(event.written[:_MAX_PLACES])
            message = (
                f"`{{operation}}` is filled before the capture and dropped at {places}: computing it is no part of the "
                "graph, so every replay reads what was kept at capture"
            )
            yield Hit(Confidence.HIGH if event.is_surely_late else Confidence.MEDIUM, message)
        case MemoKept():
            message = (
                f"`{{operation}}` lets `{event.name}` keep `{event.attribute}`, which {event.made} computes once: the "
                "capture finds it there, computing it is no part of the graph, and every replay reads what was kept"
            )
            yield Hit(Confidence.MEDIUM, message, "warm up with a copy, such as `copy.copy` makes")
        case RequestNumber(written=written) if written:
            message = (
                f"`{{operation}}` reads `{event.name}`, which is written at {written} after the capture: every replay "
                "keeps that of the capture"
            )
            yield Hit(Confidence.MEDIUM, message)
        case RequestNumber():
            message = (
                f"`{{operation}}` gives `{event.name}` the number of each request, and the region has read it at "
                f"{event.read}: every replay keeps that of the capture"
            )
            yield Hit(Confidence.MEDIUM, message, "keep a graph for each number, or put it into a tensor on the device")
        case EagerArgument():
            message = (
                f"`{{operation}}` is asked once, in a capture that has no `{event.parameter}`: {event.given} gives one "
                f"in eager mode, and the replay at {event.replay} does without"
            )
            yield Hit(
                Confidence.MEDIUM, message, "capture with a buffer that stays, and use that in eager mode as well"
            )
        case IncompleteKey():
            message = (
                f"a graph is kept under `{{operation}}`, and `{event.parameter}`, which {_DECIDES[event.use]} at "
                f"{event.used}, is no part of it: calls with another one replay the same graph"
            )
            yield Hit(Confidence.MEDIUM if event.is_sure else Confidence.LOW, message)


def _of_state(event: HostStateRead) -> Hit:
    """What there is to say of state that is written after a capture."""
    if event.by_region:
        when = "each time that the region runs in Python"
    elif event.is_surely_late:
        when = "after the capture"
    else:
        when = "outside of the region"
    places = " and ".join(event.written[:_MAX_PLACES])
    message = (
        f"`{{operation}}` {_DECIDES[event.use]} and is written at {places}, {when}: "
        "every replay keeps the value of the capture"
    )
    return Hit(_confidence(event), message)


def _confidence(event: HostStateRead) -> Confidence:
    """What whoever uses the code may set is set up once, as far as anybody knows; a count goes on.

    What computes it for nobody who is known to ask is set up once, too, as far as anybody knows.
    Whether one is still 0 is answered by the runs before a capture, and seldom changes again.
    """
    if event.begins and event.counts:
        return Confidence.LOW
    picks = event.use in ("bound", "index", "count")
    if event.kind == "other" or (event.kind == "flag" and picks):
        return Confidence.MEDIUM if picks and event.is_surely_late else Confidence.LOW
    if event.is_surely_late:
        is_sure = not (event.settles or event.is_conditional or event.use == "handed")
        return Confidence.HIGH if is_sure else Confidence.MEDIUM
    if event.is_handed or event.is_given or not (event.is_called or event.counts):
        return Confidence.LOW
    is_likely = event.kind == "number" and (event.counts or event.use not in ("branch", "loop", "item"))
    return Confidence.MEDIUM if is_likely else Confidence.LOW
