"""What streams are known to come after, as vector clocks: each counts its operations and what it has waited for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from graphlint.static.life.objects import Place, Thing

Stream: TypeAlias = Thing


@dataclass
class Order:
    """The clocks of all streams of a run, and that of the host."""

    done: dict[Stream, int] = field(default_factory=dict)
    places: dict[Stream, Place] = field(default_factory=dict)
    seen: dict[Stream, dict[Stream, int]] = field(default_factory=dict)
    host: dict[Stream, int] = field(default_factory=dict)

    def work(self, stream: Stream, place: Place) -> None:
        """A stream is given an operation, which comes after all that the host has waited for."""
        self.done[stream] = self.count(stream) + 1
        self.places[stream] = place
        self.wait(stream, self.host)

    def count(self, stream: Stream) -> int:
        return self.done.get(stream, 0)

    def counts(self) -> dict[Stream, int]:
        return dict(self.done)

    def last(self, stream: Stream) -> Place | None:
        """The last operation of a stream."""
        return self.places.get(stream)

    def known(self, stream: Stream) -> dict[Stream, int]:
        """What a stream comes after, itself included."""
        return {**self.seen.get(stream, {}), stream: self.count(stream)}

    def wait(self, stream: Stream, known: dict[Stream, int]) -> None:
        """What a stream is given from now on comes after this as well."""
        seen = self.seen.setdefault(stream, {})
        for other, number in known.items():
            seen[other] = max(number, seen.get(other, 0))

    def wait_on_host(self, known: dict[Stream, int] | None = None) -> None:
        """The host waits: for this, or for the whole device."""
        for other, number in (self.done if known is None else known).items():
            self.host[other] = max(number, self.host.get(other, 0))

    def knows(self, stream: Stream, other: Stream, number: int | None = None) -> bool:
        """Whether a stream comes after an operation of another one, after its last if none is named."""
        number = self.count(other) if number is None else number
        return max(self.seen.get(stream, {}).get(other, 0), self.host.get(other, 0)) >= number
