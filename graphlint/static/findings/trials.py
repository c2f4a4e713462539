"""Files in, those out that only try the others: tests and benchmarks, and who shows how they are used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from graphlint.finding import Region
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.index.roots import is_test


def trials(files: Sequence[Path], root: Path, lexicon: Lexicon) -> frozenset[str]:
    """The tests and benchmarks among the files of a project.

    What a test captures has run there, and a benchmark replays the same on purpose. There are none where all that is
    looked at is one: who names tests wants to know about them.
    """

    def tries(name: str) -> bool:
        return is_test(name) or lexicon.phases["timed"].match(name.lower()) is not None

    common = Path(os.path.commonpath(files)) if files else root
    named = common.relative_to(root).parts if common.is_relative_to(root) else ()
    return frozenset() if any(tries(_stem(part)) for part in named) else frozenset(map(str, set_apart(files, tries)))


def is_tried(region: Region, paths: Iterable[str], tried: frozenset[str]) -> bool:
    """Whether a way from a region leads through what is tried alone; what is declared is meant, wherever it stands."""
    return bool(tried) and region.entry is None and not tried.isdisjoint((region.path, *paths))


def set_apart(files: Sequence[Path], is_meant: Callable[[str], bool]) -> frozenset[Path]:
    """The files whose name, or that of a folder below the one that all are in, is meant."""
    above = len(Path(os.path.commonpath(files)).parts) if files else 0
    return frozenset(file for file in files if any(is_meant(_stem(part)) for part in file.parts[above:]))


def _stem(part: str) -> str:
    return part.partition(".")[0]
