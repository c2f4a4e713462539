"""What the server asks of the process that looks at projects: plain data, which loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Question(NamedTuple):
    """A project, and the texts of its files that differ from those on the disk."""

    project: Path
    unsaved: Mapping[Path, bytes]
    disk: int | None = None  # the same number as before if no file was written to since
