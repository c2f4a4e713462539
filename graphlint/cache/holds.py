"""What a run has read in, whether all of it is still there and answers alike out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from graphlint.reading import reads
from graphlint.reading.record import Record, Seen


def is_untouched(state: Mapping[str, Any]) -> bool | None:
    """Whether nothing was written to; None if that takes a look at texts, False if the answer is another one."""
    if not _is_there(*(state[part] for part in ("kinds", "names", "endings", "links", "packages"))):
        return False
    same = True
    for path, stamp in (*state["files"], *state["folders"]):
        try:
            found = os.stat(path)
        except OSError:
            return False
        same = same and stamp is not None and stamp == list(reads.stamp_of(found))
    return True if same else None


def is_same(record: Record) -> bool:
    """Whether all that was asked would be answered as before; notes in the record how it is now."""
    return _is_there(record.kinds, record.names, record.endings, record.links, record.packages) and is_alike(record)


def _is_there(
    kinds: Mapping[str, str],
    names: Mapping[str, Mapping[str, bool]],
    endings: Mapping[str, Mapping[str, list[str]]],
    links: Mapping[str, str],
    packages: Mapping[str, Sequence[str] | None],
) -> bool:
    """Whether what was asked of paths, and not of texts, has the same answers."""
    return (
        all(reads.kind_of(path) == kind for path, kind in kinds.items())
        and all(_has(folder, asked) for folder, asked in names.items())
        and all(_ends(folder, asked) for folder, asked in endings.items())
        and all(os.path.realpath(path) == found for path, found in links.items())
        and all(_is_at(name, found) for name, found in packages.items())
    )


def is_alike(record: Record) -> bool:
    """Whether what was written to says the same as before; notes in the record how it is now."""
    return files_are_alike(record, record.files) and _folders_are_alike(record)


def is_unchanged(record: Record) -> bool:
    """Whether no file was written to during the run."""
    try:
        return all(reads.stamp_of(os.stat(path)) == seen.stamp for path, seen in record.files.items())
    except OSError:
        return False


def _has(folder: str, names: Mapping[str, bool]) -> bool:
    there = reads.names_in(folder)
    return all((name in there) == found for name, found in names.items())


def _ends(folder: str, endings: Mapping[str, list[str]]) -> bool:
    return all(reads.names_ending(folder, suffix) == names for suffix, names in endings.items())


def _is_at(name: str, found: Sequence[str] | None) -> bool:
    return reads.installed(name) == (None if found is None else tuple(found))


def files_are_alike(record: Record, paths: Iterable[str]) -> bool:
    """Whether these of its files say the same as before; notes in the record how they are now."""
    for path in paths:
        seen = record.files[path]
        try:
            if seen.stamp == reads.stamp_at(path):
                continue
            stamp, text = reads.seen_at(path)
        except OSError:
            return False
        digest = reads.digest(text)
        if digest != seen.digest and not (_says_the_same(record, path, text) and _answers_alike(record, path, text)):
            return False
        record.files[path] = Seen(stamp, digest)
    return True


def as_it_is(record: Record) -> Record:
    """A record that holds, of the texts that are there now. Raises OSError."""
    now = record.copy()
    for path, lines in record.lines.items():
        if lines and path in now.looked:
            now.looked[path] = now.looked[path].of(reads.seen_at(path)[1], lines)
    return now


def _says_the_same(record: Record, path: str, text: bytes) -> bool:
    """Whether nobody has read another text of a file where it differs; notes in the record where its lines are."""
    looked = record.looked.get(path)
    lines = looked.lines_in(text) if looked is not None else {}
    if path in record.read or lines is None:
        return False
    record.lines[path] = lines
    return True


def _answers_alike(record: Record, path: str, text: bytes) -> bool:
    """Whether another text of a file that was only searched answers all questions of the run as the one before did."""
    for question, answers in record.answers.items():
        if path in answers and question(text) != answers[path]:
            return False
    if any(question(text) != (path in found) for question, found in record.searches.items()):
        return False
    for question, found in record.lookups.items():
        names = question(text)
        assert isinstance(names, frozenset)
        if any((name.encode() in names) != (path in files) for name, files in found.items()):
            return False
    return True


def _folders_are_alike(record: Record) -> bool:
    """Whether the same files are found below the same paths, where the folders on the way do not look the same."""
    for folder, seen in record.folders.items():
        try:
            stamp = reads.stamp_of(os.stat(folder))
            if seen.stamp == stamp:
                continue
            with os.scandir(folder) as entries:
                digest = reads.listing(entries)
        except OSError:
            return False
        if digest != seen.digest:
            return _is_found_again(record)
        record.folders[folder] = Seen(stamp, digest)
    return True


def _is_found_again(record: Record) -> bool:
    from graphlint.discovery import discover
    from graphlint.errors import UsageError

    with reads.recorded() as walked:
        try:
            for paths, exclude, root in record.discovered:
                discover([Path(path) for path in paths], exclude, Path(root))
        except UsageError:
            return False
    if not walked.is_complete or walked.discovered != record.discovered:
        return False
    record.folders = walked.folders
    for path, seen in walked.files.items():  # of the patterns that leave files out
        record.files.setdefault(path, seen)
    record.read |= walked.read
    record.kinds |= walked.kinds
    return True
