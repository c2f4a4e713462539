"""A setting of the process is changed for a capture, and not put back on every way."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import Confidence, Hit, SettingLeft

_SAID = {
    "region": None,
    "function": "`{operation}` changes the process for everything that runs after this capture",
    "skipped": "`{operation}` is undone only if the capture behind it succeeds: nothing does it on an exception's way",
    "flag": "`{operation}` is set back only if the capture behind it succeeds, and {caught} goes on if it fails",
    "call": "`{operation}` is undone only if the capture behind it succeeds, and {caught} goes on if it fails",
    "taken": "`{operation}` gives back what was taken only if the capture succeeds, and {caught} goes on if it fails",
    "exception": "`{operation}` leaves the function before it puts back the setting that it changed",
}
_HELP = {
    "flag": "set it back in a `finally`",
    "call": "undo it in a `finally`",
    "taken": "give it back in a `finally`",
}


def detect(event: SettingLeft) -> Iterator[Hit]:
    said = _SAID[event.how]
    said = said.replace("{caught}", event.caught) if said is not None else None
    yield Hit(
        Confidence.HIGH if event.how in ("region", "exception") else Confidence.MEDIUM, said, _HELP.get(event.how)
    )
