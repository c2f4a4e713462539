"""The report of a run in, plain data out, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from graphlint.finding import (
    Condition,
    Confidence,
    Finding,
    Fix,
    Hole,
    Hop,
    Notice,
    Region,
    Related,
    Report,
    Severity,
    Span,
    Summary,
)

# What the fields of a class hold that is more than plain data, in an order in which nothing holds what follows it.
_INSIDE: Mapping[type, Mapping[str, type]] = {
    Span: {},
    Hop: {},
    Region: {},
    Condition: {},
    Related: {},
    Summary: {},
    Fix: {"span": Span},
    Finding: {
        "severity": Severity,
        "confidence": Confidence,
        "span": Span,
        "regions": Region,
        "chain": Hop,
        "when": Condition,
        "fix": Fix,
        "related": Related,
    },
    Hole: {"span": Span, "region": Region},
    Notice: {"places": Span},
    Report: {"findings": Finding, "summary": Summary, "holes": Hole, "notices": Notice},
}
_FIELDS = {cls: tuple(field.name for field in dataclasses.fields(cls)) for cls in _INSIDE}


class Tables:
    """Objects by the number of their row in the table of their class; what many findings share stands there once."""

    def __init__(self) -> None:
        self.rows: dict[type, dict[tuple[object, ...], int]] = {cls: {} for cls in _INSIDE}

    def number(self, value: Any) -> int:
        """The number of an object. Raises KeyError for one of a class that has no table."""
        cls = type(value)
        row = tuple(self._plain(getattr(value, name)) for name in _FIELDS[cls])
        rows = self.rows[cls]
        return rows.setdefault(row, len(rows))

    def _plain(self, value: Any) -> object:
        if isinstance(value, tuple):
            return tuple(map(self._plain, value))
        return self.number(value) if dataclasses.is_dataclass(value) else value


def write(report: Report) -> dict[str, Any]:
    """A report as JSON has it. Raises KeyError for one of another witness."""
    tables = Tables()
    tables.number(report)
    return {cls.__name__: list(rows) for cls, rows in tables.rows.items()}


def read(data: Mapping[str, Any]) -> Report:
    """The report that was written. Raises LookupError, TypeError or ValueError for what is none."""
    made: dict[type, list[Any]] = {Severity: list(Severity), Confidence: list(Confidence)}
    for cls, inside in _INSIDE.items():
        kinds = [inside.get(name) for name in _FIELDS[cls]]
        rows = data[cls.__name__]
        made[cls] = [cls(*map(_value, row, kinds, [made] * len(kinds))) for row in rows]
    (report,) = made[Report]
    return report  # type: ignore[no-any-return]


def _value(value: Any, kind: type | None, made: Mapping[type, list[Any]]) -> Any:
    if isinstance(value, list):
        return tuple([_value(one, kind, made) for one in value])
    if kind is None or value is None:
        return value
    return kind(value) if kind in (Severity, Confidence) else made[kind][value]
