"""A way from a region in, whether it leads by its names through what is for other devices, or measures ranges, out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

from graphlint.finding import Region
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.contexts import Context, Site
from graphlint.static.index.parts import WORD


def is_for_others(sites: tuple[Site, ...], place: Context, region: Region, lexicon: Lexicon) -> bool:
    """Whether a function on the way is named for other devices, or for measuring what a model is quantised by, which
    runs eagerly, and what opens the region is not.
    """
    (path, name), *passed = [*((site.path, site.name) for site in sites), (place.path, place.function)]
    above = _folder_of((region.path, path, *(one for one, _ in passed)))  # which is called as whoever has it likes
    opens = _kinds((path[above:], name, region.path[above:], region.kind, region.entry or ""), lexicon)
    return not _kinds((part for one, named in passed for part in (one[above:], named)), lexicon) <= opens


def _folder_of(paths: tuple[str, ...]) -> int:
    """How much of some paths is the folder that they all lie in."""
    folders = zip(*(re.split(r"[/\\]", path)[:-1] for path in paths), strict=False)
    return sum(len(level[0]) + 1 for level in takewhile(lambda level: len(set(level)) == 1, folders))


def named_for_device(entries: Iterable[str], lexicon: Lexicon) -> tuple[str, ...]:
    """What is not named for other devices, unless all of it is."""
    named = tuple(entries)
    return tuple(one for one in named if not _is_for_others((one,), lexicon)) or named


def _is_for_others(names: Iterable[str], lexicon: Lexicon) -> bool:
    return any(lexicon.devices.get(word) == "other" for word in _words(names))


def _kinds(names: Iterable[str], lexicon: Lexicon) -> set[str]:
    named, measures = tuple(names), lexicon.phases["measures"]
    found = {"other"} if _is_for_others(named, lexicon) else set()
    return found | ({"measures"} if any(map(measures.match, _words(named))) else set())


def _words(names: Iterable[str]) -> set[str]:
    """The words of names and paths in lower case: `ops/npu/flash.py` and `NPUFlashAttention` have `npu`."""
    return {word for name in names for word in _words_of(name)}


@lru_cache(maxsize=4096)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(name))
