"""What streams, events and the host do in; whether one piece of work comes after another out, by vector clocks.

The host is one, whichever thread waits: an order between threads is taken for granted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

Vector = dict[int, int]  # by stream, how much of its work comes before
Moment = tuple[int, int]  # a stream, and how much work it had been given


class Clocks:
    """Knows what each stream has been given, and what has waited for what; nothing happens while it `is_paused`."""

    def __init__(self, is_capturing: Callable[[], bool]) -> None:
        self.is_paused = False
        self._is_capturing = is_capturing
        self._captured: tuple[list[Any], list[Any]] = [], []  # events that a capture records, and waits for
        self._streams: dict[int, Vector] = {}
        self._events: dict[Any, Vector] = {}  # keeps them: see `weakly`
        self._host: Vector = {}

    def launch(self) -> Moment:
        """Work is given to the current stream, behind all that the host has waited for."""
        stream = _current()
        vector = self._streams.setdefault(stream, {})
        _join(vector, self._host)
        vector[stream] = vector.get(stream, 0) + 1
        return stream, vector[stream]

    def captured(self) -> Callable[[], Moment]:
        """What the last capture does to events, each replay does: a function that gives a replay to the stream."""
        recorded, awaited = (list(dict.fromkeys(events)) for events in self._captured)
        self._captured = [], []

        def replayed() -> Moment:
            for event in awaited:
                self._wait(event)
            moment = self.launch()
            for event in recorded:
                self._record(event)
            return moment

        return replayed

    def is_before_stream(self, moment: Moment) -> bool:
        """Whether what the current stream is given now comes after some work."""
        return _has(self._host, moment) or _has(self._streams.get(_current(), {}), moment)

    def is_before_host(self, moment: Moment) -> bool:
        """Whether the host has waited for some work."""
        return _has(self._host, moment)

    def waited(self) -> None:
        """The host has waited for the current stream."""
        _join(self._host, self._streams.get(_current(), {}))

    def patches(self) -> list[tuple[Any, str, Any]]:
        """What to put in place of the functions that wait, or record what is waited for."""
        event, stream = torch.cuda.Event, torch.cuda.Stream
        host = self._host
        return [
            (event, "record", self._after(event.record, self._record)),
            (event, "wait", self._after(event.wait, self._wait)),
            (event, "synchronize", self._after(event.synchronize, lambda one: _join(host, self._events.get(one, {})))),
            (event, "query", self._after(event.query, lambda one: _join(host, self._events.get(one, {})))),
            (stream, "synchronize", self._after(stream.synchronize, lambda one: _join(host, self._of(one)))),
            (stream, "query", self._after(stream.query, lambda one: _join(host, self._of(one)))),
            (torch.cuda, "synchronize", self._after(torch.cuda.synchronize, lambda *_: self._wait_for_all())),
            (
                torch.accelerator,
                "synchronize",
                self._after(torch.accelerator.synchronize, lambda *_: self._wait_for_all()),
            ),
            (torch._tensor_str, "_str", self._after(torch._tensor_str._str, lambda *_, **__: self.waited())),
        ]

    def _after(self, call: Callable[..., Any], noted: Callable[..., None]) -> Callable[..., Any]:
        """The same function, taken note of when it has run; a query that finds work to be done waits for nothing."""

        @functools.wraps(call)
        def clocked(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            if result is not False and not self.is_paused:
                noted(*args, **kwargs)
            return result

        return clocked

    def _of(self, stream: Any) -> Vector:
        if not hasattr(stream, "cuda_stream"):  # one of any device
            stream = torch.cuda.Stream(
                stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
            )
        return self._streams.setdefault(stream.cuda_stream, {})

    def _record(self, event: Any, stream: Any = None) -> None:
        if self._is_capturing():
            self._captured[0].append(event)
        self._events[event] = dict(self._of(stream or torch.cuda.current_stream()))

    def _wait(self, event: Any, stream: Any = None) -> None:
        if self._is_capturing():
            self._captured[1].append(event)
        _join(self._of(stream or torch.cuda.current_stream()), self._events.get(event, {}))

    def _wait_for_all(self) -> None:
        for vector in self._streams.values():
            _join(self._host, vector)


def _current() -> int:
    return int(torch.cuda.current_stream().cuda_stream)


def _join(vector: Vector, other: Vector) -> None:
    for stream, count in other.items():
        vector[stream] = max(count, vector.get(stream, 0))


def _has(vector: Vector, moment: Moment) -> bool:
    return vector.get(moment[0], 0) >= moment[1]
