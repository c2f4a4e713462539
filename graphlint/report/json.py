"""A report in, one JSON document out."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from graphlint.finding import Finding, Fix, Hole, Region, Report, Span
from graphlint.report.place import shown_path


def render(report: Report, *, color: bool = False, base: Path) -> str:
    """The document of both commands."""
    document: dict[str, object] = {
        "graphlint": report.version,
        "witness": report.witness,
        "findings": [finding_entry(finding, base) for finding in report.findings],
        "summary": dataclasses.asdict(report.summary),
    }
    if report.holes:
        document["holes"] = [hole_entry(hole, base) for hole in report.holes]
    if report.targets:
        document["targets"] = [dataclasses.asdict(one) for one in report.targets]
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
        "help": finding.help,
        "regions": [region_entry(region, base) for region in finding.regions],
        "chain": [
            {"path": shown_path(hop.path, base), "line": hop.line, "function": hop.function} for hop in finding.chain
        ],
        "when": [{"text": one.text, "path": shown_path(one.path, base), "line": one.line} for one in finding.when],
        "fix": fix_entry(finding.fix, base) if finding.fix else None,
        **({"targets": list(finding.targets)} if finding.targets else {}),
    }


def span_entry(span: Span, base: Path) -> dict[str, object]:
    return {
        "path": shown_path(span.path, base),
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def region_entry(region: Region, base: Path) -> dict[str, object]:
    return {"kind": region.kind, "path": shown_path(region.path, base), "line": region.line, "entry": region.entry}


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
