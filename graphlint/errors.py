"""Errors that the user can act on, and the nearest match that helps to do so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

KINDS: Mapping[type, str] = {
    bool: "a boolean",
    float: "a number with a point",
    str: "a string",
    list: "a list",
    dict: "a table",
}


class UsageError(Exception):
    """One clear line that names the cause and the way out; the command prints it and exits with status 2."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known words closest to `word`, as the end of a sentence; empty where none is close."""
    import difflib  # an error may wait for it, and nothing else does

    matches = difflib.get_close_matches(word, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(f'`{match}`' for match in matches)}?" if matches else ""


def describe(value: object) -> str:
    """What a value is, in words."""
    return KINDS.get(type(value), f"`{value}`")
