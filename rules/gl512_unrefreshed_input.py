"""A graph is replayed with what its inputs held before, and the data that the caller gave goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, ContractBroken, Hit, StaleReplay, StaleResult


def detect(event: StaleReplay | StaleResult | ContractBroken) -> Iterator[Hit]:
    if isinstance(event, StaleResult):
        instead = "compute it in the region, or anew in place before each replay"
        said = f"`{{operation}}` is computed before the capture out of what `{event.filled}` fills later"
        said += f", and the graph, which reads it in line {event.line}, gets nothing of that"
        if event.made is not None:
            said = f"`{{operation}}` reads what line {event.made} computed before the capture out of "
            said += f"what `{event.filled}` fills later"
        yield Hit(Confidence.MEDIUM, said, instead)
        return
    if isinstance(event, ContractBroken):
        if event.demand == "prepare":
            said = f"`{{operation}}` computes with the `{event.name}` of the last request: none was made since"
            yield Hit(Confidence.MEDIUM, said, f"call `{event.name}` for each request before its replay")
        return
    names = ", ".join(f"`{name}`" for name in event.names)
    if event.is_unused:
        said = f"`{{operation}}` computes the last request again: {names} is never copied into what the graph reads"
    elif event.is_kept:
        said = f"`{{operation}}` keeps {names} of the call that captured for the graph, and later calls leave their own"
    else:
        said = f"`{{operation}}` reads {names} of the call that captured, and no later call writes there"
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, said)
