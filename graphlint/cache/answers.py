"""What `check` is asked and how to find out in, what it finds out: read back if nothing has changed since."""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphlint.cache import entry as entries
from graphlint.cache.entry import BROKEN, Entry
from graphlint.cache.folder import Folder
from graphlint.cache.holds import is_alike, is_unchanged, is_untouched
from graphlint.finding import Report
from graphlint.reading import reads
from graphlint.version import __version__

if TYPE_CHECKING:
    from graphlint.static.syntax.store import Store

_SUFFIX = ".answer"
_CODE_FILE = "lowered.code"
_CODE = ("graphlint", "libcst", "pathspec")  # the packages that decide what is found
_VERSIONS = ("_version.py", "_meta.py", "version.py")  # say which release of a package is there


def answer(options: Mapping[str, object], folder: Folder, find_out: Callable[[], Report]) -> Report:
    """The report of a run with these options, from the folder if it is there and holds. Raises what finding out does.

    The options are all that decides what is looked at and what is reported, as JSON has it.
    """
    if reads.has_unsaved():
        return find_out()
    started = time.perf_counter()
    asked = {
        "graphlint": __version__,
        "python": [sys.version, sys.prefix, *sys.path],
        "folder": os.getcwd(),
        "options": options,
    }
    name = f"{zlib.crc32(repr(asked).encode(errors='surrogateescape')):08x}{_SUFFIX}"
    known = _known(folder, name, asked)
    if known is not None:
        reads.incomplete()  # for who keeps a record around this, which would not know what the answer depends on
        summary = replace(known.summary, seconds=time.perf_counter() - started)
        return replace(known, summary=summary)
    folder.prepare()
    with reads.recorded() as record:
        found = _found_out(folder, find_out)
        _note_code()
    if (outer := reads.kept()) is not None:
        outer.merge(record)
    if record.is_complete and is_unchanged(record):
        try:
            folder.write(name, entries.write(asked, record, found))
        except KeyError:
            return found
        folder.tidy(_SUFFIX)
    return found


def _found_out(folder: Folder, find_out: Callable[[], Report]) -> Report:
    """What is found out with what was lowered before, which is kept for the next time."""
    from graphlint.static.syntax import store

    with store.used(store.current() or lowered(folder)) as used:
        found = find_out()
    if used.collect():
        folder.write(_CODE_FILE, used.text())
    return found


def lowered(folder: Folder | None) -> Store:
    """What was lowered before, as far as a folder keeps it."""
    from graphlint.static.syntax import store

    return store.Store(store.head(), "" if folder is None else folder.read(_CODE_FILE) or "")


def _known(folder: Folder, name: str, asked: object) -> Report | None:
    """What is known of what is asked, if that still holds; what cannot be read is not known."""
    text = folder.read(name)
    if text is None:
        return None
    try:
        entry = Entry(text)
        if not entry.answers(asked):
            return None
        same = is_untouched(entry.state)
        if same is None:
            record = entry.record
            same = is_alike(record)
            if same:
                folder.write(name, entry.again(record))
        return entry.outcome if same else None
    except BROKEN:
        return None


def _note_code() -> None:
    """Let the outcome depend on the code that has run, which a version does not tell where it is worked on."""
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None) if name.partition(".")[0] in _CODE else None
        if file is not None and file.endswith(".py"):
            reads.content(Path(file))
    for name in _CODE:
        file = (reads.package(name) or ("",))[0]  # it may have been found out without it
        for version in _VERSIONS if file else ():
            if reads.is_file(path := Path(file).with_name(version)):
                reads.content(path)
