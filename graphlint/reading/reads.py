"""Paths in, what is there out; where a record is kept, it learns of it.

Each function is one way of reading. What `check` reads past them, a record would not know, so tests watch the disk.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from graphlint.reading.notebooks import SUFFIX as NOTEBOOK
from graphlint.reading.notebooks import parse
from graphlint.reading.questions import Answer, Question
from graphlint.reading.record import Looked, Record, Seen, Stamp

CACHE = ".graphlint_cache"  # is written to by the run itself, and holds no sources
IGNORE_FILE = ".gitignore"
SOURCES = (".py", NOTEBOOK)  # what is looked at in a folder

Memory: TypeAlias = dict[tuple[str, Question[Any]], tuple[Seen, Any]]

_kept: Record | None = None
_unsaved: dict[str, bytes] = {}  # texts that an editor holds, or a pipe brings, in place of those on the disk
_remembered: Memory | None = None  # what files have answered, and what they were then


@contextlib.contextmanager
def unsaved(texts: Mapping[Path, bytes]) -> Iterator[None]:
    """Let files have these texts inside, whatever lies on the disk; what is found so is kept by nobody."""
    global _unsaved
    outer, _unsaved = _unsaved, {str(path): text for path, text in texts.items()}
    try:
        yield
    finally:
        _unsaved = outer


@contextlib.contextmanager
def recorded() -> Iterator[Record]:
    """Keep a record of what is read inside."""
    global _kept
    outer, record = _kept, Record()
    _kept = record
    try:
        yield record
    finally:
        _kept = outer


def remember() -> None:
    """Keep what files answer in memory from now on, for a process that asks the same again and again."""
    global _remembered
    _remembered = {}


def has_unsaved() -> bool:
    """Whether some files have other texts than those on the disk."""
    return bool(_unsaved)


def is_unsaved(path: str, seen: Seen) -> bool:
    """Whether a file has a text that is not saved, or had one when it was seen."""
    return path in _unsaved or seen.stamp.inode == 0


def kept() -> Record | None:
    """The record that is kept now, if one is."""
    return _kept


def stamp_of(status: os.stat_result) -> Stamp:
    return Stamp(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def digest(text: bytes) -> str:
    """What stands for a text."""
    from hashlib import blake2b  # takes a while, and nobody needs it where nothing was written to

    return blake2b(text, digest_size=16).hexdigest()


def content(path: Path) -> bytes:
    """All that stands in a file. Raises OSError."""
    text = _read(path)
    if _kept is not None:
        _kept.read.add(str(path))
    return text


def known(path: Path) -> bytes:
    """All that stands in a file, for who notes what he looks at of it. Raises OSError."""
    return _read(path)


def look(path: Path, looked: Looked) -> None:
    """Note what is looked at of a file from now on."""
    if _kept is not None:
        _kept.look(str(path), looked)


class Texts(dict[Path, bytes]):
    """The texts of files that are searched over and over, as many as may be kept. A look-up raises OSError."""

    def __init__(self, limit: int) -> None:
        self._left = limit

    def __missing__(self, path: Path) -> bytes:
        text = _read(path)
        if len(text) <= self._left:
            self._left -= len(text)
            self[path] = text
        return text


def ask(path: Path, question: Question[Answer], texts: Texts) -> Answer:
    """What a file answers to a question, which is no reading of it. Raises OSError."""
    answer = answer_of(path, question, texts)
    if _kept is not None:
        _kept.answers.setdefault(question, {})[str(path)] = answer  # type: ignore[arg-type]
    return answer


def answer_of(path: Path, question: Question[Answer], texts: Texts) -> Answer:
    """What a file answers, for who asks all files and notes which of them said yes. Raises OSError."""
    return question(texts[path]) if _remembered is None else _remembered_answer(_remembered, path, question, texts)


def _remembered_answer(memory: Memory, path: Path, question: Question[Answer], texts: Texts) -> Answer:
    """What a file has answered before, if it was not written to since."""
    known = memory.get((str(path), question))
    with contextlib.suppress(OSError):
        if known is not None and known[0].stamp == stamp_at(str(path)):
            if _kept is not None:
                _kept.see(str(path), known[0])
            return known[1]  # type: ignore[no-any-return]
    text = texts[path]
    answer = question(text)
    with contextlib.suppress(OSError):
        if Record().safe(stamp := stamp_at(str(path))) is not None:
            memory[str(path), question] = Seen(stamp, digest(text)), answer
    return answer


def stamp_at(path: str) -> Stamp:
    """The stamp of a file, or of its text that is not saved. Raises OSError."""
    text = _unsaved.get(path)
    return stamp_of(os.stat(path)) if text is None else _stamp_of_text(text)


def _stamp_of_text(text: bytes) -> Stamp:
    return Stamp(0, int(digest(text), 16), len(text), 0)


def seen_at(path: str) -> tuple[Stamp, bytes]:
    """A file as it is now, past the record: its stamp, and its text. Raises OSError."""
    if path in _unsaved:
        return _stamp_of_text(_unsaved[path]), _unsaved[path]
    with open(path, "rb") as file:
        return stamp_of(os.fstat(file.fileno())), source_of(path, file.read())


def search(question: Question[bool], found: Iterable[Path]) -> None:
    """Note that all files were asked a question, and which of them said yes."""
    if _kept is not None:
        _kept.searches[question] = frozenset(map(str, found))  # type: ignore[index]


def look_up(question: Question[frozenset[bytes]], name: str, found: Iterable[Path]) -> None:
    """Note that a name was looked up among those of all files, and which have it."""
    if _kept is not None:
        _kept.lookups.setdefault(question, {})[name] = frozenset(map(str, found))  # type: ignore[arg-type]


def scan(folder: str) -> list[os.DirEntry[str]]:
    """What lies in a folder. Raises OSError."""
    try:
        stamp = None if _kept is None else stamp_of(os.stat(folder))
        with os.scandir(folder) as opened:
            entries = list(opened)
    except OSError:
        incomplete()
        raise
    if _kept is not None and stamp is not None:
        _kept.folders[folder] = Seen(stamp, listing(entries))
    return entries


def listing(entries: Iterable[os.DirEntry[str]]) -> str:
    """What stands for the entries of a folder that may hold sources: folders, sources, and what leaves some out."""
    names = (f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries)
    telling = sorted(name for name in names if name.endswith(("/", *SOURCES, IGNORE_FILE)) and name != f"{CACHE}/")
    return digest("\0".join(telling).encode(errors="surrogateescape"))


def discovered(paths: Iterable[Path], exclude: Iterable[str], root: Path, files: Iterable[str]) -> None:
    """Note which files were found below some paths."""
    if _kept is not None:
        _kept.discovered[tuple(map(str, paths)), tuple(exclude), str(root)] = frozenset(files)


class Folder:
    """The names in a folder, for those who ask for one at a time; one that cannot be read has none."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._names = names_in(self.path)

    def __contains__(self, name: str) -> bool:
        found = name in self._names
        if _kept is not None:
            _kept.names.setdefault(self.path, {})[name] = found
        return found


def names_ending(folder: str, suffix: str) -> list[str]:
    return sorted(name for name in names_in(folder) if name.endswith(suffix))


def names_in(folder: str) -> frozenset[str]:
    unsaved = {os.path.basename(path) for path in _unsaved if os.path.dirname(path) == folder}
    try:
        return frozenset(os.listdir(folder)) | unsaved
    except OSError:
        return frozenset(unsaved)


def files_in(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder with a suffix, sorted by name."""
    found = names_ending(str(folder), suffix)
    if _kept is not None:
        _kept.endings.setdefault(str(folder), {})[suffix] = found
    return [folder / name for name in found]


def kind(path: Path) -> str:
    """What lies at a path: `file`, `folder`, `other`, or nothing."""
    found = kind_of(str(path))
    if _kept is not None:
        _kept.kinds[str(path)] = found
    return found


def kind_of(path: str) -> str:
    if path in _unsaved:
        return "file"
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def is_file(path: Path) -> bool:
    return kind(path) == "file"


def is_folder(path: Path) -> bool:
    return kind(path) == "folder"


def exists(path: Path) -> bool:
    return kind(path) != ""


def resolved(path: Path) -> Path:
    """The path without links."""
    found = os.path.realpath(path)
    if _kept is not None:
        _kept.links[str(path)] = found
    return Path(found)


def package(name: str) -> tuple[str, ...] | None:
    """Where a package or module is installed: its file, and the folders of a package. None if it is not."""
    found = installed(name)
    if _kept is not None:
        _kept.packages[name] = found
    return found


def installed(name: str) -> tuple[str, ...] | None:
    import importlib.machinery
    import sys

    spec = importlib.machinery.PathFinder.find_spec(name, sys.path)
    return None if spec is None else (spec.origin or "", *(spec.submodule_search_locations or ()))


def incomplete() -> None:
    """Note that the answer depends on more than a record can hold."""
    if _kept is not None:
        _kept.is_complete = False


# Not to block is what opening a pipe without a writer takes, and files never do; Windows reads text unless told.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
LARGEST = 64 << 20  # bytes; what is larger was not written by hand


def is_handed(path: Path) -> bool:
    """Whether a path is what a shell hands over, as in `--config <(...)`."""
    return str(path).startswith(("/dev/fd/", "/proc/self/fd/", "/dev/stdin"))


def source_of(path: str, data: bytes) -> bytes:
    """What is looked at of a file: all of it, or the code of a notebook. Raises OSError for a notebook that is none."""
    if not path.endswith(NOTEBOOK):
        return data
    try:
        return parse(data).text.encode("utf-8", "replace")
    except ValueError as problem:
        raise OSError(errno.EINVAL, f"it is no notebook: {problem}", path) from problem


def _read(path: Path) -> bytes:
    if (text := _unsaved.get(str(path))) is not None:
        if _kept is not None:
            _kept.see(str(path), Seen(_stamp_of_text(text), digest(text)))
        return text
    try:
        with os.fdopen(os.open(path, _FLAGS), "rb", buffering=0) as file:
            about = os.fstat(file.fileno())
            if stat.S_ISFIFO(about.st_mode) and is_handed(path):
                os.set_blocking(file.fileno(), True)
                incomplete()
                return b"".join(iter(lambda: file.read(1 << 16), b""))
            if not stat.S_ISREG(about.st_mode):
                raise OSError(errno.EINVAL, "it is a pipe or a device, and not a file", str(path))
            if about.st_size > LARGEST:
                raise OSError(errno.EFBIG, f"it is larger than {LARGEST >> 20} MiB", str(path))
            stamp = None if _kept is None else stamp_of(about)
            text = source_of(str(path), file.readall())
    except OSError as problem:
        if isinstance(problem, FileNotFoundError):
            kind(path)
        else:
            incomplete()
        raise
    if _kept is not None and stamp is not None:
        known = _kept.files.get(str(path))
        if known is None or known.stamp != stamp:
            _kept.see(str(path), Seen(stamp, digest(text)))
    return text
