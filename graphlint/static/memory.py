"""What a process that checks a project again and again keeps of a run for the next.

That are modules, whose text may be the same then, and what the parts of a run have found, with the record of all that
was read until then: a part is found again as it was unless something of that has changed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from graphlint.cache.holds import is_same
from graphlint.reading import reads
from graphlint.reading.record import Record
from graphlint.static.index.module import Module
from graphlint.static.index.parallel import begin

Found = TypeVar("Found")


class Memory:
    """The modules of a project by path, and what the parts of a run have found, by their number."""

    def __init__(self) -> None:
        self.modules: dict[Path, Module] = {}
        self._parts: dict[int, tuple[bytes, Record]] = {}

    def recall(self, part: int) -> bytes | None:
        """What a part found, if it would find the same again."""
        known = self._parts.get(part)
        return known[0] if known is not None and is_same(known[1]) else None

    def keep(self, part: int, found: object, record: Record | None) -> None:
        """Keep what a part has found, with what was read for it."""
        self._parts.pop(part, None)
        if record is not None and record.is_complete:
            self._parts[part] = pickle.dumps(found), record


def run_parts(works: Sequence[Callable[[], Found]], memory: Memory | None) -> list[Found]:
    """What each work finds, from the memory or at the same time as others; the last one runs in this process."""
    known = [None if memory is None else memory.recall(part) for part in range(len(works))]
    missing = [part for part, found in enumerate(known) if found is None]
    begun = {part: begin(lambda work=works[part]: _noted(work)) for part in missing[:-1]}  # type: ignore[misc]
    found = {part: pickle.loads(kept) for part, kept in enumerate(known) if kept is not None}
    for part in reversed(missing):
        found[part], record = begun[part]() if part in begun else _noted(works[part])
        if memory is not None:
            memory.keep(part, found[part], record)
    return [found[part] for part in range(len(works))]


def _noted(work: Callable[[], Found]) -> tuple[Found, Record | None]:
    """What a work finds, and what was read until it was done, if a record is kept."""
    found, kept = work(), reads.kept()
    return found, None if kept is None else kept.copy()
