"""Recall and false alarms against models that were really captured: verdicts and their sources in, two numbers out.

    python tests/zoo.py RECORDS SOURCES...

RECORDS holds `models.jsonl` (one model a line: `entry`, `captured`, `site` as file:line:function of the failure) and
`lines.jsonl` (one file a line: `captured_lines` that ran under capture and never failed). SOURCES are the packages'
folders. Printed: the share of failing (entry, line) pairs that are reported there for that entry, and the lines that
carry an error although they captured, with what was missed and what was reported falsely.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import defaultdict
from pathlib import Path

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Severity
from graphlint.rulebook import builtin_rules, load_rulebook


def read_records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--only", help="entries whose name holds this text")
    arguments = parser.parse_args()
    models = [m for m in read_records(arguments.records / "models.jsonl") if (arguments.only or "") in str(m["entry"])]
    lines = {r["file"]: r for r in read_records(arguments.records / "lines.jsonl")}
    roots = [source.resolve().parent for source in arguments.sources]

    started = time.perf_counter()
    config = Config(root=Path.cwd(), regions=tuple(dict.fromkeys(str(m["entry"]) for m in models)))
    report = static.check(arguments.sources, config, load_rulebook(builtin_rules()))
    seconds = time.perf_counter() - started

    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    alarms = []
    for finding in report.findings:
        path = Path(finding.span.path)
        name = next(str(path.relative_to(root)) for root in roots if path.is_relative_to(root))
        reached = {region.entry for region in finding.regions}
        for line in range(finding.span.line, max(finding.span.end_line, finding.span.line) + 1):
            found[name, line] |= {entry for entry in reached if entry}
        captured = lines.get(name, {}).get("captured_lines", ())
        if finding.severity is Severity.ERROR and any(reached) and finding.span.line in captured:
            alarms.append((name, finding.span.line, finding.code, finding.confidence, finding.message))

    failing = [(str(m["entry"]), *str(m["site"]).split(":")[:2]) for m in models if not m["captured"]]
    missed = [(entry, file, line) for entry, file, line in failing if entry not in found[file, int(line)]]
    print(f"recall: {len(failing) - len(missed)}/{len(failing)} = {1 - len(missed) / max(len(failing), 1):.1%}")
    for entry, file, line in missed:
        print(f"  missed {file}:{line} for {entry}")
    distinct = sorted({(name, line) for name, line, *_ in alarms})
    print(f"false alarms: {len(distinct)} distinct lines of {sum(len(r['captured_lines']) for r in lines.values())}")
    for name, line, code, confidence, message in sorted(alarms):
        print(f"  false alarm {name}:{line} {code} {confidence} {message}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{report.summary} in {seconds:.1f} s, {peak:.0f} MiB")


if __name__ == "__main__":
    main()
