"""Tables of regions in, how capture regions are spelt and what engines run in theirs out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphlint.errors import nearest
from graphlint.rulebook.contracts import Contracts, read_contracts
from graphlint.rulebook.lexicon import package_of
from graphlint.rulebook.tables import Table, read_table
from graphlint.targets import TARGET, TARGET_REQUIRED, Target, call_mistake, pattern_mistake

FORMS = ("context", "begin", "end", "callable", "decorator", "compile")
KEYS: Mapping[str, type] = {
    "kind": str,
    "form": str,
    "names": list,
    "soft": bool,
    "foreign": bool,
    "telling": bool,
    "backward": bool,
    "imported": bool,
    "marks": list,
    "takes": list,
    "samples": list,
    "whole": list,
    "graphing": dict,
}
LISTS = ("names", "marks", "takes", "samples", "whole")
REQUIRED = ("kind", "form", "names")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a table: what its names open, and how; `rules/regions.toml` says what the keys mean."""

    kind: str
    form: str
    names: tuple[str, ...]
    soft: bool = False
    foreign: bool = False
    telling: bool = False
    backward: bool = False
    imported: bool = False
    marks: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    graphing: tuple[tuple[str, tuple[str | bool, ...]], ...] = ()


class Entries:
    """The capture entries by qualified name, and by last name where that tells enough; the last of a name counts.

    `targets` are what known engines run where their code does not tell, `contracts` what libraries ask of a capture.
    """

    def __init__(
        self, entries: tuple[Entry, ...], targets: tuple[Target, ...] = (), contracts: Contracts | None = None
    ) -> None:
        self.rows, self.targets, self.contracts = entries, targets, contracts or Contracts()
        self.by_name = {name: entry for entry in entries for name in entry.names}
        self.by_last_name = {_last(name): entry for entry in entries if entry.telling for name in entry.names}
        self.declaring = {_last(name) for entry in entries if entry.form == "decorator" for name in entry.names}
        self.compiling = {_last(name) for entry in entries if entry.form == "compile" for name in entry.names}
        self.graphing = {name for entry in entries for name, _ in entry.graphing}
        self.opening = frozenset(_last(name) for name, one in self.by_name.items() if one.form in ("begin", "context"))
        self.last_names = {_last(name) for name in self.by_name}
        self.packages = {package_of(name) for name in self.by_name}
        self.marks = sorted({mark for entry in entries for mark in entry.marks})

    def seen_from(self, is_own: Callable[[str], bool]) -> Entries:
        """Those that count for a program: of its own packages, not those that are for who imports them."""
        packages = {package_of(name) for row in self.rows if row.imported for name in row.names}
        own = set(filter(is_own, packages))
        kept = tuple(row for row in self.rows if not (row.imported and own & set(map(package_of, row.names))))
        return Entries(kept, self.targets, self.contracts) if len(kept) < len(self.rows) else self

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

    def find_method(self, classes: Iterable[str], name: str) -> Entry | None:
        """The entry that a method is which one of these classes has."""
        return next((entry for cls in classes if (entry := self.find(f"{cls}.{name}")) is not None), None)


def load_entries(*files: Path) -> Entries:
    """Read the tables; an entry of a later one takes the place of earlier ones of its names. Raises UsageError."""
    tables = [read_table(file) for file in files]
    for table in tables:
        table.known(table.data, ("entry", "target", "contract"))
    rows = [row for table in tables for row in _rows(table)]
    marks = {mark for _, _, entry in rows for mark in entry.marks}
    for table, place, entry in rows:
        _check_marks(table, place, entry, marks)
    targets = tuple(target for table in tables for target in _targets(table))
    contracts = Contracts(tuple(row for table in tables for row in read_contracts(table)))
    return Entries(tuple(entry for _, _, entry in rows), targets, contracts)


def _targets(table: Table) -> Iterator[Target]:
    rows = table.data.get("target", [])
    table.expect(rows, list, "target")
    for place, row in enumerate(rows):
        table.expect(row, dict, "target", place)
        table.known(row, TARGET, "target", place)
        for key in TARGET_REQUIRED:
            if not row.get(key):
                raise table.error(f"key `{key}` of this target is missing", "target", place)
        table.expect(row["at"], str, "target", place, "at")
        table.expect(row.get("call", ""), str, "target", place, "call")
        is_one = isinstance(row["runs"], str)
        runs = (row["runs"],) if is_one else table.strings(row["runs"], "target", place, "runs")
        for key, pattern in (("at", row["at"]), *(("runs", one) for one in runs)):
            if said := pattern_mistake(pattern):
                raise table.error(f"`{key}`: {said}", "target", place, key, at=pattern)
        if "call" in row and (said := call_mistake(row["call"])):
            raise table.error(f"`call`: {said}", "target", place, "call")
        yield Target(row["at"], runs, row.get("call"))


def _rows(table: Table) -> Iterator[tuple[Table, int, Entry]]:
    """The entries of a table, each with its place in it."""
    rows = table.data.get("entry", [])
    table.expect(rows, list, "entry")
    for place, row in enumerate(rows):
        _check_row(table, place, row)
        graphing = tuple((keyword, tuple(values)) for keyword, values in row.get("graphing", {}).items())
        lists = {key: tuple(row.get(key, ())) for key in LISTS}
        yield table, place, Entry(**row | lists | {"graphing": graphing})


def _check_row(table: Table, place: int, row: dict[str, Any]) -> None:
    """Raises UsageError unless a row has the keys of an entry, with values of their kind."""
    table.expect(row, dict, "entry", place)
    table.known(row, KEYS, "entry", place)
    for key in REQUIRED:
        if not row.get(key):
            raise table.error(f"key `{key}` of this entry is missing", "entry", place)
    for key, value in row.items():
        table.expect(value, KEYS[key], "entry", place, key)
    if row["form"] not in FORMS:
        said = f"`form`: `{row['form']}` is not one of {', '.join(FORMS)}{nearest(row['form'], FORMS)}"
        raise table.error(said, "entry", place, "form")
    if row["form"] == "compile" and not row.get("graphing"):
        raise table.error("key `graphing` of this entry is missing: what implies that it captures", "entry", place)
    for keyword, values in row.get("graphing", {}).items():
        if values != [True] or values[0] is not True:  # a switch
            table.strings(values, "entry", place, "graphing", keyword)
    for key in LISTS:
        table.strings(row.get(key, []), "entry", place, key)
    for name in row["names"]:
        if not all(part.isidentifier() for part in name.split(".")) or "." not in name:
            said = f"`names`: `{name}` is no qualified name, as `torch.cuda.graph` is one"
            raise table.error(said, "entry", place, "names", at=name)


def _check_marks(table: Table, place: int, entry: Entry, marks: Iterable[str]) -> None:
    """Raises UsageError for an entry whose files nobody would look at; what ends a region stands where one begins."""
    if entry.form == "end" or entry.marks:
        return
    for name in entry.names:
        if not any(mark in name for mark in marks):
            said = f'key `marks` is missing, so no file is searched for `{name}`; write `marks = ["{_last(name)}"]`'
            raise table.error(said, "entry", place)


def _last(name: str) -> str:
    return name.rpartition(".")[2]
