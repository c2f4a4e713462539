"""Recall against bugs that were fixed in public repositories: records and their sources in, a line for each out.

    python -m tests.recall TREES [--entry] [--records FILE] [ID...]

TREES has a folder for each `tree` of the records: the repository at the commit `at`, before the fix. Each is looked at
as it stands, or with what its `[tool.graphlint]` table declares, such as `graphlint init` proposes; with `--entry`,
what the record says is captured is declared alone. A record is found by an error or a warning within a line of one of
its `lines`, whatever it says: who reads the output judges whether the code names the cause.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from graphlint import static
from graphlint.config import load_config
from graphlint.errors import UsageError
from graphlint.finding import Confidence, Finding, Report
from graphlint.rulebook import builtin_rules, load_rulebook

RECORDS = Path(__file__).with_name("records.jsonl")
NEAR = 1  # lines
LONGEST = 3  # lines of a finding that count


@cache
def look(tree: Path, checked: str, entry: str | None) -> Report:
    """What `check` says of a folder of a tree. Raises UsageError."""
    config = load_config(tree)
    if entry is not None:
        config = replace(config, regions=(entry,), targets=())
    return static.check([tree / checked], config, load_rulebook(builtin_rules()))


def near(record: dict[str, Any], tree: Path, report: Report) -> Iterator[Finding]:
    """The findings at a record's place, the surest first."""
    for finding in sorted(report.findings, key=lambda one: -one.confidence):
        span = finding.span
        last = min(max(span.line, span.end_line), span.line + LONGEST)
        is_near = any(span.line - NEAR <= line <= last + NEAR for line in record["lines"])
        if is_near and Path(span.path) == tree / record["path"]:
            yield finding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--entry", action="store_true", help="declare what each record says is captured")
    parser.add_argument("--records", type=Path, default=RECORDS)
    given = parser.parse_intermixed_args()
    counts: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for line in given.records.read_text("utf-8").splitlines():
        record = json.loads(line)
        if given.ids and record["id"] not in given.ids:
            continue
        tree = given.trees.resolve() / record["tree"]
        try:
            found = list(near(record, tree, look(tree, record["check"], record["entry_spec"] if given.entry else None)))
            told = ", ".join(f"{one.code} {one.confidence} at {one.span.line}" for one in found[:3]) or "nothing"
        except UsageError as problem:
            found, told = [], str(problem)
        is_found = any(one.confidence > Confidence.LOW for one in found)
        counts[record["position"], record["static_visible"]].append(is_found)
        print(f"{'found ' if is_found else 'missed'} {record['id']} {record['path']}:{record['lines'][0]}: {told}")
    for (position, visible), each in sorted(counts.items()):
        print(f"{position}, visible in the source: {visible}: {sum(each)} of {len(each)}")


if __name__ == "__main__":
    main()
