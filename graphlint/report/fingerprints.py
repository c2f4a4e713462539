"""A report in, for each finding what it is recognised by, even when lines move, out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from graphlint.finding import Report
from graphlint.report.place import shown_path


def fingerprints(report: Report, base: Path) -> Iterator[str]:
    """Everything but the place, and which of several alike it is."""
    import hashlib  # loads OpenSSL, for which the other formats need not wait

    seen: Counter[tuple[str, ...]] = Counter()
    for finding in report.findings:
        identity = finding.code, shown_path(finding.span.path, base), finding.function, finding.message
        text = "\0".join((*identity, str(seen[identity])))
        seen[identity] += 1
        yield hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
