"""Files in, those out that only try the others: tests and benchmarks, and who shows how they are used."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from graphlint.finding import Region
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.index.roots import is_test


def trials(files: Sequence[Path], given: Iterable[Path], root: Path, lexicon: Lexicon) -> frozenset[str]:
    """The tests and benchmarks among the files of a project, of which these paths are looked at.

    What a test captures has run there, and a benchmark replays the same on purpose. Who names a file, or a folder of
    tests, wants to know about it; where most files are those of benchmarks, they are the programs themselves.
    """

    def tries(*names: str) -> bool:
        return any(is_test(stem) or is_timed(stem) for stem in map(_stem, names))

    def is_timed(*names: str) -> bool:
        return any(lexicon.phases["timed"].match(_stem(name).lower()) for name in names)

    named = {path: tries(*path.relative_to(root).parts) if path.is_relative_to(root) else False for path in given}
    below: dict[Path, list[tuple[str, ...]]] = {}
    for file in files:
        over = next((path for path in (file, *file.parents) if path in named), None)
        if over is not None and not named[over] and over != file:
            below.setdefault(over, []).append(file.relative_to(over).parts)
    found = set[str]()
    for over, those in below.items():
        is_about = 2 * sum(is_timed(*parts[:-1]) for parts in those) > len(those)
        found.update(str(over.joinpath(*parts)) for parts in those if tries(*(parts[-1:] if is_about else parts)))
    return frozenset(found)


def _stem(name: str) -> str:
    return name.partition(".")[0]


def is_tried(region: Region, way: Iterable[str], place: str, tried: frozenset[str]) -> bool:
    """Whether something stands in what is tried alone, or only that leads from a region of the program there.

    What a test captures of the program is what the program says may be captured. A test that is declared is meant.
    """
    is_of_trial = region.path in tried
    if not tried or (is_of_trial and region.entry is not None):
        return False
    return place in tried or not (is_of_trial or tried.isdisjoint(way))


def set_apart(files: Collection[Path], is_meant: Callable[[str], bool]) -> frozenset[Path]:
    """The files whose name, or that of a folder below the one that all are in, is meant."""
    above = len(Path(os.path.commonpath(files)).parts) if files else 0
    return frozenset(file for file in files if any(is_meant(_stem(part)) for part in file.parts[above:]))
