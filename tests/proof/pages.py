"""A process that others are forked from in, the same on large pages out: a fork copies the table of pages, not them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MAPS = Path("/proc/self/maps")
_COLLAPSE = 25  # MADV_COLLAPSE, of Linux 6.1
_LARGE = 1 << 21
_PRIVATE = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 +(?:\[heap\])?$", re.MULTILINE)


def use_large_pages() -> None:
    """A system that has none, or not here, leaves all as it is."""
    library: Any = ctypes.CDLL(None)
    for start, end in _own_memory():
        library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE)


def _own_memory() -> Iterator[tuple[int, int]]:
    """Where memory lies that belongs to no file, from one border of large pages to another."""
    for start, end in _PRIVATE.findall(_MAPS.read_text("utf-8", "replace") if _MAPS.exists() else ""):
        first, last = -(int(start, 16) // -_LARGE), int(end, 16) // _LARGE
        if first < last:
            yield first * _LARGE, last * _LARGE
