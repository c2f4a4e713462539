"""Values or texts of the settings of a test in, the settings that they stand for out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphlint.errors import UsageError, nearest
from graphlint.finding import Severity
from graphlint.testing.options import MARKER, SEVERITIES, WITNESSES


@dataclass(frozen=True)
class Settings:
    """How an assertion looks at its target, and what fails it; None leaves the number to `graphlint.verify`."""

    on: str = "auto"
    deadline: float | None = None
    warm_ups: int | None = None
    replays: int | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    rules: tuple[Path, ...] = ()
    contract: Path | None = None
    fail_on: Severity = Severity.ERROR


def read_settings(given: Mapping[str, Any]) -> Settings:
    """The settings from values or texts. Raises UsageError for one that is unknown or not understood."""
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in READERS:
            raise UsageError(f"there is no setting `{name}` of `{MARKER}`{nearest(name, READERS)}")
        try:
            values[name] = READERS[name](value)
        except (ValueError, TypeError, KeyError):
            raise UsageError(f"`{value}` is no value for the setting `{name}` of `{MARKER}`") from None
    return dataclasses.replace(Settings(), **values)


def _parts(value: str | Sequence[str]) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(code.strip() for code in parts if code.strip())


def _positive(value: str | int) -> int:
    number = int(value)
    if number < 1:
        raise ValueError
    return number


def _witness_name(value: str) -> str:
    return WITNESSES[WITNESSES.index(value)]


READERS: Mapping[str, Callable[[Any], object]] = {
    "on": _witness_name,
    "deadline": float,
    "warm_ups": _positive,
    "replays": _positive,
    "select": _parts,
    "ignore": _parts,
    "rules": lambda value: tuple(map(Path, _parts(value))),
    "contract": Path,
    "fail_on": lambda value: Severity[SEVERITIES[SEVERITIES.index(value)].upper()],
}
