"""Paths and counts of a report in, the words for them out."""

from __future__ import annotations

import os
from pathlib import Path

from graphlint.finding import Condition, Region


def shown_path(path: str, base: Path) -> str:
    """The path relative to `base` where it lies under it, with forward slashes."""
    absolute = Path(os.path.normpath(base / path))
    return (absolute.relative_to(base) if absolute.is_relative_to(base) else absolute).as_posix()


def shown_region(region: Region, base: Path) -> str:
    """What opens the region, and where."""
    entry = f" {region.entry}" if region.entry else ""
    return f"{region.kind}{entry} at {shown_path(region.path, base)}:{region.line}"


def shown_condition(condition: Condition, base: Path) -> str:
    """What has to hold, and where that is asked."""
    return f"{condition.text} ({shown_path(condition.path, base)}:{condition.line})"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
