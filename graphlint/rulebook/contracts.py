"""Rows of tables in, what libraries ask of those who capture calls of theirs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphlint.rulebook.tables import Table

LISTS = ("of", "calls", "prepare", "tensors")
KEYS: Mapping[str, type] = {**dict.fromkeys(LISTS, list), "mode": dict, "warm_up": bool}
DEMANDS = ("mode", "prepare", "tensors", "warm_up")


@dataclass(frozen=True, slots=True)
class Contract:
    """What holds for classes and functions; `rules/regions.toml` says what the keys mean."""

    of: tuple[str, ...]
    calls: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    mode: tuple[tuple[str, object], ...] = ()
    warm_up: bool = False


class Contracts:
    """The contracts by qualified name; a package may hand a name on from any module of its own."""

    def __init__(self, rows: tuple[Contract, ...] = ()) -> None:
        self._rows = {_key(name): row for row in rows for name in row.of}

    def find(self, name: str) -> Contract | None:
        """The contract of a class or function; the last of a name counts."""
        return self._rows.get(_key(name))


def read_contracts(table: Table) -> Iterator[Contract]:
    """The contracts of a table. Raises UsageError."""
    rows = table.data.get("contract", [])
    table.expect(rows, list, "contract")
    for place, row in enumerate(rows):
        _check(table, place, row)
        lists = {key: tuple(row.get(key, ())) for key in LISTS}
        yield Contract(**lists, mode=tuple(row.get("mode", {}).items()), warm_up=row.get("warm_up", False))


def _check(table: Table, place: int, row: dict[str, Any]) -> None:
    """Raises UsageError unless a row names something, and asks something of who captures it."""
    table.expect(row, dict, "contract", place)
    table.known(row, KEYS, "contract", place)
    for key, value in row.items():
        table.expect(value, KEYS[key], "contract", place, key)
    for key in LISTS:
        table.strings(row.get(key, []), "contract", place, key)
    if not row.get("of"):
        raise table.error("key `of` of this contract is missing", "contract", place)
    for name in row["of"]:
        if "." not in name or not all(part.isidentifier() for part in name.split(".")):
            said = f"`of`: `{name}` is no qualified name, as `acme.Attention` is one"
            raise table.error(said, "contract", place, "of", at=name)
    if not any(row.get(key) for key in DEMANDS):
        raise table.error(f"this contract asks for nothing: it has none of {', '.join(DEMANDS)}", "contract", place)


def _key(name: str) -> tuple[str, str]:
    """The package and the last name."""
    return name.partition(".")[0], name.rpartition(".")[2]
