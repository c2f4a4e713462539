"""What a run has found in, the same with lines that are elsewhere by now out."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphlint.finding import Condition, Hop, Region, Related, Span
from graphlint.reading.record import Lines


class Moving:
    """Moves what stands in some files, by path; what names a line in its text cannot be moved."""

    def __init__(self, files: Mapping[str, Lines]) -> None:
        self.files = files
        self._naming = re.compile("|".join(rf"\b{re.escape(Path(path).name)}:\d" for path in files))

    def moved(self, part: Any) -> Any:
        """Plain data with other lines. Raises LookupError where nobody knows where a line is."""
        match part:
            case str():
                if self._naming.search(part):
                    raise LookupError(part)
                return part
            case Span() | Hop() | Region() | Condition() | Related() if part.path in self.files:
                return self._placed(part)
            case (str() as path, int() as line) if path in self.files:
                return path, self.files[path][line]
            case tuple():
                moved = map(self.moved, part)
                return type(part)(*moved) if hasattr(part, "_fields") else tuple(moved)
            case list() | set() | frozenset():
                return type(part)(map(self.moved, part))
            case dict():
                return {self.moved(key): self.moved(held) for key, held in part.items()}
            case Path() if str(part) in self.files:
                raise LookupError(part)
        fields = getattr(type(part), "__dataclass_fields__", {})
        return type(part)(**{name: self.moved(getattr(part, name)) for name in fields}) if fields else part

    def _placed(self, part: Any) -> Any:
        lines = self.files[part.path]
        end = {"end_line": lines[part.end_line]} if isinstance(part, Span) and part.end_line else {}
        return dataclasses.replace(part, line=lines[part.line], **end)
