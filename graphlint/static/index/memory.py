"""What a process that checks a project again and again keeps of a run for the next.

That are modules, whose text may be the same then, and what the parts of a run have found, with the record of all that
was read until then: a part is found again as it was unless something of that has changed, or with other lines where
only these have. Of each part, what the last texts have led to is kept, since edits are taken back.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from graphlint.cache.holds import as_it_is, files_are_alike, is_same
from graphlint.cache.moving import Moving
from graphlint.reading import reads
from graphlint.reading.record import Record
from graphlint.static.index.module import Module
from graphlint.static.index.parallel import begin

Found = TypeVar("Found")

_MOST = 8  # findings of one part


@dataclass
class _Kept:
    """What was found, the record of what was read for it, and for which state of the disk that holds."""

    found: bytes
    record: Record
    disk: int | None

    def holds(self, disk: int | None) -> bool:
        """Whether it would be found again; where the disk is as it was, only texts that are not saved can differ."""
        unsaved = [path for path, seen in self.record.files.items() if reads.is_unsaved(path, seen)]
        is_as_it_was = disk is not None and disk == self.disk
        if not (files_are_alike(self.record, unsaved) and (is_as_it_was or is_same(self.record))):
            return False
        self.disk = disk
        return True

    def again(self) -> Any:
        """What was found, with lines as they are now; None where nobody knows where they are."""
        found = pickle.loads(self.found)
        moved = {path: lines for path, lines in self.record.lines.items() if any(at != to for at, to in lines.items())}
        try:
            return Moving(moved).moved(found) if moved else found
        except LookupError:
            return None


class Memory:
    """The modules of a project by path, and what the parts of a run have found, by their names.

    As long as `disk` is the same number, nobody has written to a file; None says that nobody knows.
    """

    def __init__(self) -> None:
        self.modules: dict[Path, Module] = {}
        self.disk: int | None = None
        self._parts: dict[object, list[_Kept]] = {}

    def recall(self, part: object) -> Any:
        """What a part found, if it would find the same again; else None."""
        kept = self._parts.get(part, [])
        same = next((one for one in kept if one.holds(self.disk)), None)
        if same is None:
            return None
        kept.sort(key=lambda one: one is not same)
        return same.again()

    def note(self, part: object) -> None:
        """Let the record that is kept now know what a part depends on that was found again."""
        if (record := reads.kept()) is not None:
            try:
                record.merge(as_it_is(self._parts[part][0].record))
            except OSError:
                reads.incomplete()

    def keep(self, part: object, found: object, record: Record | None) -> None:
        """Keep what a part has found, with what was read for it."""
        if record is not None and record.is_complete:
            kept = _Kept(pickle.dumps(found), record, self.disk)
            self._parts[part] = [kept, *self._parts.get(part, [])][:_MOST]

    def find(self, part: object, work: Callable[[], Found]) -> Found:
        """What a part finds, as it did before or anew."""
        known = self.recall(part)
        found, record = _noted(work) if known is None else (known, None)
        self.keep(part, found, record)
        return found


def run_parts(works: Sequence[Callable[[], Found]], memory: Memory | None, at_once: bool = True) -> list[Found]:
    """What each work finds, from the memory, or anew: the last one in this process, the others there or `at_once`."""
    found: dict[int, Any] = {part: None if memory is None else memory.recall(part) for part in range(len(works))}
    missing = [part for part, known in found.items() if known is None]
    begun = {part: begin(lambda work=works[part]: _noted(work)) for part in missing[:-1] if at_once}  # type: ignore[misc]
    for part in reversed(missing):
        found[part], record = begun[part]() if part in begun else _noted(works[part])
        if memory is not None:
            memory.keep(part, found[part], record)
    if memory is not None:
        for part in found.keys() - missing:
            memory.note(part)
    return [found[part] for part in range(len(works))]


def _noted(work: Callable[[], Found]) -> tuple[Found, Record | None]:
    """What a work finds, and what was read until it was done, if a record is kept."""
    found, kept = work(), reads.kept()
    return found, None if kept is None else kept.copy()
