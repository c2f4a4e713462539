"""Text of files in, text that a terminal or a log shows and does not obey out.

All that is written out goes through here: names, patterns, entries and paths are what somebody else has written.
"""

from __future__ import annotations

import re

UNSEEN = "�"  # stands for a character that steers a terminal, or that cannot be seen

# What systems that run checks take for commands in a log: `::` at the start of a line, `##[` and `##vso[` anywhere.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\w*\[)", re.MULTILINE)


def escaped(text: str, kept: str = "") -> str:
    """The text without characters that steer or cannot be seen, save those that are kept, and without commands."""
    return obeyed_by_none(seen(text, kept))


def seen(text: str, kept: str = "") -> str:
    """The text with what steers or cannot be seen replaced, save what is kept."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in kept else UNSEEN for one in text)


def obeyed_by_none(text: str) -> str:
    """The text without commands to whoever reads a log; it stays as long as it is."""
    return _COMMAND.sub(rf"\1{UNSEEN}", text)
