"""A capture is begun where none can be, replayed inside of another one, or left open by an exception."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import CaptureMisused, Confidence, Hit

_SAID = {
    "default": "`{operation}` begins a capture on the default stream, which cannot capture",
    "nested": "`{operation}` begins a capture while another one is under way",
    "replay": "`{operation}` replays a graph while another capture is under way",
    "again": "`{operation}` captures into a graph that holds a capture already",
    "stream": "`{operation}` ends the capture on another stream than the one on which it began",
    "raise": "`{operation}` can be left before the end of the capture, which then stays open",
    "destroyed": "`{operation}` waits for ever: a graph that holds collectives of the group is still alive",
}
_HELP = {
    "default": "begin it inside `with torch.cuda.stream(torch.cuda.Stream()):`, or use `with torch.cuda.graph(graph):`",
    "nested": "capture the inner graph before, or run its function eagerly while a capture is under way",
    "replay": "run the function of the inner graph eagerly here, and let the outer graph capture it",
    "again": "call `reset()` before, or make a new graph",
    "stream": "end it inside the `with torch.cuda.stream(...)` in which it began",
    "raise": "end the capture in a `finally`, or use `with torch.cuda.graph(graph):`",
    "destroyed": "reset and delete the graphs before the process group",
}


def detect(event: CaptureMisused) -> Iterator[Hit]:
    yield Hit(Confidence.HIGH if event.is_sure else Confidence.LOW, _SAID[event.how], _HELP[event.how])
