"""A report and the findings that were known before in, the report of new ones and the known ones that are gone out."""

from __future__ import annotations

import dataclasses
import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from graphlint.errors import UsageError
from graphlint.finding import Finding, Report
from graphlint.paths import lies_in, normal
from graphlint.reading import reads
from graphlint.report.place import leads_away

_HINT = "write it with `graphlint check --write-baseline`"


@dataclass(frozen=True, order=True)
class Known:
    """What a finding is recognised by when lines move; `path` is relative to the folder of the baseline."""

    path: str
    code: str
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.code} in {self.path}, `{self.text}`"


@dataclass(frozen=True)
class Baseline:
    """How often each finding is known, and the paths that were looked at when it was written down."""

    known: Counter[Known]
    paths: tuple[Path, ...]


def write(report: Report, paths: Iterable[Path], file: Path) -> None:
    """Write down every finding of a report on these paths, one a line. Raises UsageError."""
    folder = file.absolute().parent
    places = json.dumps(sorted(_relative(path, folder) for path in paths), ensure_ascii=False)
    entries = sorted(_recognise(report.findings, folder))
    lines = ",\n".join(f"  {json.dumps(dataclasses.asdict(known), ensure_ascii=False)}" for known in entries)
    try:
        file.write_text(f'{{"paths": {places}, "findings": [\n{lines}\n]}}\n', encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the baseline to {file}: {error.strerror}") from error


def apply(report: Report, paths: Iterable[Path], file: Path) -> tuple[Report, list[Known]]:
    """The report without the findings that the baseline knows, and the entries that nothing is found for any more.

    A report on fewer paths than the baseline was written for says nothing of what is gone. Raises UsageError.
    """
    baseline = read(file)
    left = Counter(baseline.known)
    new = []
    for finding, known in zip(report.findings, _recognise(report.findings, _folder(file)), strict=True):
        if left[known]:
            left[known] -= 1
        else:
            new.append(finding)
    hidden = report.summary.suppressed + len(report.findings) - len(new)
    summary = dataclasses.replace(report.summary, suppressed=hidden)
    looked_at = list(paths)
    is_whole = all(lies_in(path, looked_at) for path in baseline.paths)
    gone = sorted(left.elements()) if is_whole else []
    return dataclasses.replace(report, findings=tuple(new), summary=summary), gone


def read(file: Path) -> Baseline:
    """The baseline in a file. Raises UsageError."""
    try:
        document = json.loads(reads.content(file).decode("utf-8"))
        known = Counter(_entry(**entry) for entry in document["findings"])
        return Baseline(known, tuple(_folder(file) / path for path in document["paths"]))
    except OSError as error:
        raise UsageError(f"cannot read the baseline {file}: {error.strerror}; {_HINT}") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{file} is not a baseline; {_HINT}") from error


def _folder(file: Path) -> Path:
    """What the paths of a baseline are relative to."""
    return Path.cwd() if reads.is_handed(file) else file.absolute().parent


def _entry(path: str, code: str, function: str, text: str) -> Known:
    """An entry of a file. Raises TypeError for what is no text."""
    return Known(*("".join([one]) for one in (path, code, function, text)))


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(normal(path), folder)).as_posix()
    except ValueError:  # another drive of Windows
        return normal(path).as_posix()


def _recognise(findings: Iterable[Finding], folder: Path) -> list[Known]:
    sources: dict[str, list[str]] = {}
    recognised = []
    for finding in findings:
        span = finding.span
        if span.path not in sources:
            sources[span.path] = _lines(Path(span.path))
        text = " ".join("".join(sources[span.path][span.line - 1 : span.line]).split())
        recognised.append(Known(_relative(Path(span.path), folder), finding.code, finding.function, text))
    return recognised


def _lines(path: Path) -> list[str]:
    """The lines of a file; none if it cannot be read, which is a finding itself, or is a link to another folder."""
    if leads_away(path, path.absolute().parent):
        return []
    try:
        return reads.content(path).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
