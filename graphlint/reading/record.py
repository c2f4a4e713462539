"""What a run reads in, all that its answer depends on out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from graphlint.reading.questions import Question

MARGIN = 2_000_000_000  # nanoseconds: as coarse as the clocks of file systems are


class Stamp(NamedTuple):
    """What tells that a file or folder was written to, without a look inside: nobody can set the time of change."""

    modified: int
    changed: int
    size: int
    inode: int


class Seen(NamedTuple):
    """A file or folder as it was: its stamp, and a digest of what stood in it."""

    stamp: Stamp
    digest: str


Lines: TypeAlias = Mapping[int, int]  # a line of one text, and of another one


class Looked(Protocol):
    """What was looked at of a text that was not read as a whole."""

    def lines_in(self, text: bytes, /) -> Lines | None:
        """Where the lines that were looked at are in another text; None if it says anything else there."""

    def copy(self) -> Looked:
        """The same, whatever is looked at from now on."""

    def of(self, text: bytes, lines: Lines, /) -> Looked:
        """The same of another text that says the same, with its lines there."""

    def merge(self, other: Any, /) -> None:
        """Add what another process has looked at of the same text."""


class Record:
    """What was asked of the disk, with the answers. `is_complete` says that the answer depends on nothing else."""

    def __init__(self) -> None:
        self.began = time.time_ns()
        self.files: dict[str, Seen] = {}
        self.read: set[str] = set()  # the files that were read, and not only searched
        self.looked: dict[str, Looked] = {}  # of files that are known by then
        self.lines: dict[str, Lines] = {}  # of those that have another text by now, where what was looked at is
        self.folders: dict[str, Seen] = {}
        # The files that were found below some paths, with what was left out, by globs relative to a folder.
        self.discovered: dict[tuple[tuple[str, ...], tuple[str, ...], str], frozenset[str]] = {}
        self.endings: dict[str, dict[str, list[str]]] = {}  # folder -> suffix -> the names that have it
        self.names: dict[str, dict[str, bool]] = {}  # folder -> name -> whether it is there
        self.kinds: dict[str, str] = {}  # path -> what lies there
        self.links: dict[str, str] = {}  # path -> what it leads to
        self.packages: dict[str, tuple[str, ...] | None] = {}  # name -> where it is installed
        self.answers: dict[Question[object], dict[str, object]] = {}  # by file; one that is not there was not asked
        self.searches: dict[Question[object], frozenset[str]] = {}  # of all files, those that said yes
        self.lookups: dict[Question[object], dict[str, frozenset[str]]] = {}  # by name, the files that have it
        self.is_complete = True

    def see(self, path: str, seen: Seen) -> None:
        """Note a file; one that was another one before has changed under the run."""
        if self.files.setdefault(path, seen) != seen:
            self.is_complete = False

    def look(self, path: str, looked: Looked) -> None:
        """Note what is looked at of a file from now on."""
        if (known := self.looked.get(path)) is not None:
            looked.merge(known)
        self.looked[path] = looked

    def copy(self) -> Record:
        """The record as it is now, whatever is read from now on."""
        copied = Record()
        copied.merge(self)
        copied.began, copied.is_complete = self.began, self.is_complete
        return copied

    def merge(self, other: Record) -> None:
        """Add what another process, which went on from here, has asked."""
        for path, seen in other.files.items():
            self.see(path, seen)
        self.read |= other.read
        for path, looked in other.looked.items():
            copied = looked.copy()
            if (known := self.looked.setdefault(path, copied)) is not copied:
                known.merge(copied)
        self.folders |= other.folders
        self.discovered |= other.discovered
        for folder, names in other.names.items():
            self.names.setdefault(folder, {}).update(names)
        for folder, endings in other.endings.items():
            self.endings.setdefault(folder, {}).update(endings)
        self.kinds |= other.kinds
        self.links |= other.links
        self.packages |= other.packages
        for question, answers in other.answers.items():
            self.answers.setdefault(question, {}).update(answers)
        self.searches |= other.searches
        for question, found in other.lookups.items():
            self.lookups.setdefault(question, {}).update(found)
        self.is_complete = self.is_complete and other.is_complete

    def safe(self, stamp: Stamp) -> Stamp | None:
        """A stamp that tells of every later change; what was written to just now may be again within the same tick."""
        return stamp if max(stamp.modified, stamp.changed) < self.began - MARGIN else None
