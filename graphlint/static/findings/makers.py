"""A way from a region in, whether it leads by its names through what is for other devices, or measures ranges, out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from graphlint.finding import Region
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.contexts import Context, Site
from graphlint.static.index.parts import WORD


def is_for_others(sites: tuple[Site, ...], place: Context, region: Region, lexicon: Lexicon) -> bool:
    """Whether a function on the way is named for other devices, or for measuring what a model is quantised by, which
    runs eagerly, and what opens the region is not.
    """
    opener, *passed = [*((site.path, site.name) for site in sites), (place.path, place.function)]
    opens = _kinds((*opener, region.path, region.kind, region.entry or ""), lexicon)
    return not _kinds((name for names in passed for name in names), lexicon) <= opens


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
