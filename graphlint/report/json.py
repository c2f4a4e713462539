"""A report in, one JSON document out."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from graphlint.finding import Finding, Fix, Hole, Notice, Region, Related, Report, Span, TargetReport
from graphlint.report.place import in_cell, shown_path


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """The document of both commands."""
    document: dict[str, object] = {
        "graphlint": report.version,
        "witness": report.witness,
        "findings": [finding_entry(finding, base) for finding in report.findings],
        "summary": dataclasses.asdict(report.summary),
    }
    if report.notices:
        document["notices"] = [notice_entry(notice, base) for notice in report.notices]
    if report.holes:
        document["holes"] = [hole_entry(hole, base) for hole in report.holes]
    if report.statistics:
        document["unresolved"] = [{"callee": callee, "calls": calls} for callee, calls in report.statistics]
    if report.targets:
        document["targets"] = [target_entry(one, base) for one in report.targets]
    return json.dumps(document, indent=2) + "\n"


def finding_entry(finding: Finding, base: Path) -> dict[str, object]:
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        **span_entry(finding.span, base),
        "function": finding.function,
        "message": finding.message,
        "why": finding.why,
        "help": finding.help,
        "regions": [region_entry(region, base) for region in finding.regions],
        "chain": [{**place_entry(hop.path, hop.line, base), "function": hop.function} for hop in finding.chain],
        "when": [{"text": one.text, **place_entry(one.path, one.line, base)} for one in finding.when],
        "fix": fix_entry(finding.fix, base) if finding.fix else None,
        **({"related": [related_entry(one, base) for one in finding.related]} if finding.related else {}),
        **({"targets": list(finding.targets)} if finding.targets else {}),
    }


def related_entry(related: Related, base: Path) -> dict[str, object]:
    return {"text": related.text, **place_entry(related.path, related.line, base)}


def target_entry(target: TargetReport, base: Path) -> dict[str, object]:
    """What is known of a target; its contracts only where they were asked for."""
    entry = dataclasses.asdict(target)
    contracts = entry.pop("contracts")
    del entry["collectives"]  # which one rank has to say to another
    return {**entry, **({"contracts": with_shown_paths(contracts, base)} if contracts else {})}


def with_shown_paths(tree: Any, base: Path) -> Any:
    """Plain data, whose paths are those that are shown."""
    if isinstance(tree, dict):
        return {
            key: shown_path(value, base) if key == "path" else with_shown_paths(value, base)
            for key, value in tree.items()
        }
    return [with_shown_paths(one, base) for one in tree] if isinstance(tree, (list, tuple)) else tree


def place_entry(path: str, line: int, base: Path) -> dict[str, object]:
    """A line of a file; in a notebook, the line of a cell."""
    cell, line = in_cell(path, line, base)
    return {"path": shown_path(path, base), **({"cell": cell} if cell else {}), "line": line}


def span_entry(span: Span, base: Path) -> dict[str, object]:
    return {
        **place_entry(span.path, span.line, base),
        "column": span.column,
        "end_line": span.end_line and in_cell(span.path, span.end_line, base)[1],
        "end_column": span.end_column,
    }


def region_entry(region: Region, base: Path) -> dict[str, object]:
    return {
        "kind": region.kind,
        **place_entry(region.path, region.line, base),
        "entry": region.entry,
        "soft": region.soft,
    }


def notice_entry(notice: Notice, base: Path) -> dict[str, object]:
    return {"message": notice.message, "places": [place_entry(one.path, one.line, base) for one in notice.places]}


def hole_entry(hole: Hole, base: Path) -> dict[str, object]:
    return {
        **span_entry(hole.span, base),
        "callee": hole.callee,
        "function": hole.function,
        "region": region_entry(hole.region, base),
        "fitting": hole.fitting,
        "followed": hole.followed,
        "left_out": hole.left_out,
    }


def fix_entry(fix: Fix, base: Path) -> dict[str, object]:
    return {
        **span_entry(fix.span, base),
        "text": fix.text,
        "safe": fix.safe,
    }
