"""What was compared in, a table by rule and confidence, the lists behind it, and rows for a file out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from graphlint.finding import Confidence, Finding

from .comparison import Compared

KINDS = ("missed", "false", "unreached", "unjudged")
_SHOWN = (Confidence.HIGH, Confidence.MEDIUM)


def table(compared: Sequence[Compared], folders: Sequence[Path]) -> str:
    """The numbers, and each difference by name; paths are shown below the folder in which they lie."""
    judged = [one for one in compared if not one.problem]
    refused = [finding for one in judged for finding in one.refused]
    missed = [finding for one in judged for finding in one.missed]
    return "\n".join(
        [
            f"targets                  {len(judged):5} of {len(compared)} could be compared",
            f"refused something        {sum(bool(one.refused) for one in judged):5}",
            f"lines that ran           {sum(one.ran for one in judged):5}",
            "",
            f"{'refused lines':20}{'all':>10}{'reported':>10}{'share':>10}",
            *_recall(refused, missed),
            "",
            f"{'errors of check':20}{'false':>14}{'unreached':>14}{'no when':>14}{'unjudged':>14}",
            f"{'':20}" + f"{'high':>7}{'medium':>7}" * 4,
            *_alarms(judged),
            "",
            *(f"{one.target}: {one.problem}" for one in compared if one.problem),
            *(line for kind in KINDS for line in _listed(kind, judged, folders)),
        ]
    )


def _recall(refused: Iterable[Finding], missed: Iterable[Finding]) -> Iterator[str]:
    every = Counter(one.code for one in refused)
    lost = Counter(one.code for one in missed)
    counted = ((code, every[code], lost[code]) for code in sorted(every))
    for name, count, less in (*counted, ("all", every.total(), lost.total())):
        share = 1 - less / max(count, 1)
        yield f"{name:20}{count:10}{count - less:10}{share:10.1%}"


def _alarms(judged: Iterable[Compared]) -> Iterator[str]:
    """A line a rule, and one for all: errors on lines that ran, on others, on others without a condition."""
    columns = [Counter[tuple[str, Confidence]]() for _ in range(4)]
    for one in judged:
        bare = [finding for finding in one.unreached if not finding.when]
        for column, findings in zip(columns, (one.false, one.unreached, bare, one.unjudged), strict=True):
            column.update((finding.code, finding.confidence) for finding in findings)
    codes = sorted({code for column in columns for code, _ in column})
    for code in codes:
        yield f"{code:20}" + "".join(f"{column[code, level]:7}" for column in columns for level in _SHOWN)
    totals = (sum(column[code, level] for code in codes) for column in columns for level in _SHOWN)
    yield f"{'all':20}" + "".join(f"{total:7}" for total in totals)


def _listed(kind: str, judged: Iterable[Compared], folders: Sequence[Path]) -> Iterator[str]:
    for one in judged:
        for row in rows(getattr(one, kind), folders):
            when = f" when {'; '.join(row['when'])}" if row["when"] else ""
            place = f"{row['path']}:{row['line']}"
            yield f"{kind:10}{row['confidence']:7}{one.target}: {place} {row['code']} {row['message']}{when}"


def record(one: Compared, folders: Sequence[Path]) -> dict[str, Any]:
    """One target as it is kept."""
    if one.problem:
        return {"target": one.target, "problem": one.problem}
    kept = {kind: rows(getattr(one, kind), folders) for kind in ("refused", *KINDS)}
    return {"target": one.target, "ran": one.ran} | {kind: found for kind, found in kept.items() if found}


def rows(findings: Iterable[Finding], folders: Sequence[Path]) -> list[dict[str, Any]]:
    return [
        {
            "path": shown(Path(one.span.path), folders),
            "line": one.span.line,
            "code": one.code,
            "confidence": str(one.confidence),
            "message": one.message,
            "when": [condition.text for condition in one.when],
        }
        for one in findings
    ]


def shown(path: Path, folders: Sequence[Path]) -> str:
    """The path below the innermost of the folders in which it lies."""
    around = [folder for folder in folders if path.is_relative_to(folder)]
    return str(path.relative_to(max(around, key=lambda folder: len(folder.parts)))) if around else str(path)
