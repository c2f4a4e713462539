"""A setting of the process is changed for a capture, and not put back on every way."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, SettingLeft

_SAID = {
    "region": None,
    "function": "`{operation}` changes the process for everything that runs after this capture",
    "skipped": "`{operation}` is undone only if the capture behind it succeeds: nothing does it on an exception's way",
    "exception": "`{operation}` leaves the function before it puts back the setting that it changed",
}


def detect(event: SettingLeft) -> Iterator[Hit]:
    yield Hit(Confidence.MEDIUM if event.how in ("function", "skipped") else Confidence.HIGH, _SAID[event.how])
