"""Paths as they were given in, paths that can be compared out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def normal(path: Path) -> Path:
    """The absolute path without `..`; links stay as they are named."""
    return Path(os.path.normpath(path.absolute()))


def lies_in(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is one of the places, or below one of them."""
    return any(normal(path).is_relative_to(normal(place)) for place in places)
