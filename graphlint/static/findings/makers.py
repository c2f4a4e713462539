"""A way from a region in, whether it leads through what is for devices that the region does not capture on out."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from graphlint.finding import Region
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.domain.contexts import Context, Site
from graphlint.static.index.parts import WORD


def is_of_other_maker(sites: tuple[Site, ...], place: Context, region: Region, lexicon: Lexicon) -> bool:
    """Whether a function on the way is named for other devices, and what opens the region is not."""
    opener, *passed = [*((site.path, site.name) for site in sites), (place.path, place.function)]
    opens = (*opener, region.path, region.kind, region.entry or "")
    return _names_other((name for names in passed for name in names), lexicon) and not _names_other(opens, lexicon)


def _names_other(names: Iterable[str], lexicon: Lexicon) -> bool:
    return any(lexicon.devices.get(word) == "other" for word in _words(names))


def _words(names: Iterable[str]) -> set[str]:
    """The words of names and paths in lower case: `ops/npu/flash.py` and `NPUFlashAttention` have `npu`."""
    return {word for name in names for word in _words_of(name)}


@lru_cache(maxsize=4096)
def _words_of(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in WORD.findall(name))
