"""A tensor that the graph reads is replaced, or given other memory, and replay reads the old one."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, ContractBroken, Hit, IdleBuffer, InputReplaced


def detect(event: InputReplaced | IdleBuffer | ContractBroken) -> Iterator[Hit]:
    if isinstance(event, ContractBroken):
        if event.demand == "mode":
            said = f"`{{operation}}` is captured without `{event.name}`: it may take other memory for each request"
            yield Hit(Confidence.HIGH, said, f"make it with `{event.name}`, and with the buffers for that")
        return
    if isinstance(event, IdleBuffer):
        said = f"`{{operation}}` hands over another tensor each time, and nothing fills `{event.buffer}`, which line "
        does = f"{said}{event.line} makes for graphs: a graph that has read `{event.name}` reads the one of its capture"
        yield Hit(Confidence.MEDIUM, does, f"copy it into `{event.buffer}`, and hand that over")
        return
    if event.is_late:
        said = f"`{{operation}}` fills `{event.name}` for replays alone: it was nothing at the capture of line "
        yield Hit(Confidence.MEDIUM, f"{said}{event.region_line}, and so it is to the graph")
        return
    if event.given:
        said = (
            f"`{{operation}}` replaces an array of what the graph of line {event.region_line} gave to `{event.given}`"
        )
        yield Hit(
            Confidence.MEDIUM, f"{said}: replay reads the old one", "write into the array in place, or capture anew"
        )
        return
    name = f"`{event.name}`" if event.name else "this tensor"
    does = "writes" if event.is_result else "reads"
    said = f"`{{operation}}` replaces {name}, which the graph of line {event.region_line} {does}: "
    yield Hit(Confidence.HIGH if event.is_known else Confidence.MEDIUM, f"{said}replay {does} the old one")
