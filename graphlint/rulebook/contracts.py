"""Rows of tables in, what libraries ask of those who capture calls of theirs out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphlint.rulebook.tables import Table

LISTS = ("of", "calls", "prepare", "tensors")
KEYS: Mapping[str, type] = {**dict.fromkeys(LISTS, list), "mode": dict, "when": dict, "warm_up": bool}
DEMANDS = ("mode", "prepare", "tensors", "warm_up")


@dataclass(frozen=True, slots=True)
class Contract:
    """What holds for classes and functions; `rules/regions.toml` says what the keys mean."""

    of: tuple[str, ...]
    calls: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    mode: tuple[tuple[str, object], ...] = ()
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
    warm_up: bool = False


class Contracts:
    """The contracts by qualified name; a package may hand a name on from any module of its own."""

    def __init__(self, rows: tuple[Contract, ...] = ()) -> None:
        self._rows = {_key(name): row for row in rows for name in row.of}

    def find(self, name: str, given: Mapping[str | int, object] = MappingProxyType({})) -> Contract | None:
        """The contract of a function, or of an object that was made with these arguments; the last of a name counts."""
        row = self._rows.get(_key(name))
        is_other = row is not None and any(given.get(key) not in (None, *values) for key, values in row.when)
        return None if is_other else row


def read_contracts(table: Table) -> Iterator[Contract]:
    """The contracts of a table. Raises UsageError."""
    rows = table.data.get("contract", [])
    table.expect(rows, list, "contract")
    for place, row in enumerate(rows):
        _check(table, place, row)
        lists = {key: tuple(row.get(key, ())) for key in LISTS}
        mode = tuple(row.get("mode", {}).items())
        when = tuple((key, tuple(values)) for key, values in row.get("when", {}).items())
        yield Contract(**lists, mode=mode, when=when, warm_up=row.get("warm_up", False))


def _check(table: Table, place: int, row: dict[str, Any]) -> None:
    """Raises UsageError unless a row names something, and asks something of who captures it."""
    table.expect(row, dict, "contract", place)
    table.known(row, KEYS, "contract", place)
    for key, value in row.items():
        table.expect(value, KEYS[key], "contract", place, key)
    for key in LISTS:
        table.strings(row.get(key, []), "contract", place, key)
    for key, values in row.get("when", {}).items():
        table.strings(values, "contract", place, "when", key)
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
