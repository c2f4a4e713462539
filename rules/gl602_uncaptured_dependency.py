"""What is captured or replayed waits for what is not, or does not wait for what it needs."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, OutsideDependency

_SAID = {
    "event": "`{operation}` waits, inside the region, for an event that was recorded outside of it",
    "stream": "`{operation}` waits, inside the region, for a stream that takes no part in the capture",
    "default": "`{operation}` makes the default stream wait for work of the region, and that stream cannot capture",
    "legacy": "`{operation}` uses the default stream while a stream of another library, which is tied to it, captures",
    "parallel": "`{operation}` ties the gradients of its parameters to the default stream, and a region reduces them",
    "forward": "`{operation}` runs on the stream of its forward pass, which was not captured",
    "backward": "`{operation}` runs on the default stream, and its loss is alive while the same backward is captured",
    "warm-up": "`{operation}` warms up on the stream of its caller, to which a captured backward pass would be tied",
    "request": "`{operation}` answers its first calls on the stream of its caller, to which a captured backward pass "
    "of the same callable would be tied",
    "output": "`{operation}` reads what the graph writes, on another stream than that of the replay, without a wait",
    "overwritten": "`{operation}` reads what the graph writes, and a later replay on another stream does not wait "
    "for that",
    "input": "`{operation}` writes what a graph reads, and its replay runs on another stream that does not wait for it",
    "fork": "what runs in `{operation}` reads what it is given without waiting for the stream that it was written on",
    "join": "`{operation}` takes what a side stream writes, on the default stream, which has not waited for that",
    "host": "`{operation}` waits for the stream that captured, and the replay runs on another one: the host goes on "
    "while the graph may still be writing",
}
_HELP = {
    "parallel": "make it inside `with torch.cuda.stream(side):`, and warm up there, eleven iterations or more",
    "forward": "capture the forward pass together with the backward pass",
    "backward": "warm up on a side stream, or keep `loss.detach()`",
    "warm-up": "warm up inside `with torch.cuda.stream(side):`, or without gradients",
    "request": "warm up inside `with torch.cuda.stream(side):`, or without gradients",
    "output": "let this stream wait for that of the replay: `torch.cuda.current_stream().wait_stream(side)`",
    "overwritten": "record the event behind what reads it, or let the stream of the replay wait for this one",
    "input": "let the stream of the replay wait for that of the copy, or copy on the stream of the replay",
    "fork": "let the side stream wait first: `side.wait_stream(torch.cuda.current_stream())`",
    "join": "wait behind the warm-up: `torch.cuda.current_stream().wait_stream(side)`",
    "host": "wait for the stream of the replay, `torch.cuda.current_stream().synchronize()`, or replay on that stream",
}
_UNSURE = ("output", "overwritten", "input", "backward", "parallel", "request", "fork", "join", "host")


def detect(event: OutsideDependency) -> Iterator[Hit]:
    confidence = Confidence.MEDIUM if event.how in _UNSURE else Confidence.HIGH
    if event.how == "warm-up":
        confidence = Confidence.LOW  # harmless for a region without a backward pass
    yield Hit(confidence, _SAID[event.how], _HELP.get(event.how))
