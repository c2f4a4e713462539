"""The table of regions in, how capture regions are spelt out: by qualified name, and by last name where that tells."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table: what its names open, and how."""

    kind: str
    form: str
    names: tuple[str, ...]
    soft: bool = False
    foreign: bool = False
    telling: bool = False
    backward: bool = False
    marks: tuple[str, ...] = ()
    graphing: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Entries:
    """The capture entries by qualified name, and by last name where that tells enough."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self.by_name = {name: entry for entry in entries for name in entry.names}
        self.by_last_name = {_last(name): entry for entry in entries if entry.telling for name in entry.names}
        self.declaring = {_last(name) for entry in entries if entry.form == "decorator" for name in entry.names}
        self.compiling = {_last(name) for entry in entries if entry.form == "compile" for name in entry.names}
        self.graphing = {name for entry in entries for name, _ in entry.graphing}
        self.last_names = {_last(name) for name in self.by_name}
        self.marks = sorted({mark.encode() for entry in entries for mark in entry.marks})

    def find(self, name: str) -> Entry | None:
        return self.by_name.get(name)

    def declares(self, name: str) -> bool:
        """Whether a decorator makes a declared region of what it decorates."""
        entry = self.find(name)
        return entry is not None and entry.form == "decorator"

    def opens_context(self, cls: str) -> bool:
        """Whether an object of a class is a context manager that opens a region."""
        entry = self.find(cls)
        return entry is not None and entry.form == "context"

    def find_method(self, cls: str, name: str) -> Entry | None:
        """The entry that a method of a class outside the project is; every module has those of `torch.nn.Module`."""
        found = self.find(f"{cls}.{name}")
        return self.find(f"torch.nn.Module.{name}") if found is None and cls.startswith("torch.nn.") else found


def load_entries(path: Path) -> Entries:
    """Read the table at `path`."""
    rows = tomllib.loads(path.read_text(encoding="utf-8"))["entry"]
    return Entries(tuple(_entry(row) for row in rows))


def _entry(row: dict[str, Any]) -> Entry:
    graphing = tuple((name, tuple(values)) for name, values in row.get("graphing", {}).items())
    return Entry(**row | {key: tuple(row.get(key, ())) for key in ("names", "marks")} | {"graphing": graphing})


def _last(name: str) -> str:
    return name.rpartition(".")[2]
