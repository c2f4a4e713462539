"""A report in, a SARIF 2.1.0 log out; the way from the region to the finding becomes a code flow."""

from __future__ import annotations

import dataclasses
import json
import os
import urllib.parse
from pathlib import Path

from graphlint.finding import Finding, Fix, Region, Related, Report, Span
from graphlint.pages import builtin_page
from graphlint.report.fingerprints import fingerprints
from graphlint.report.place import (
    finding_in_file,
    in_file,
    page_command,
    shown_condition,
    shown_notice,
    shown_path,
    shown_region,
)

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"

Node = dict[str, object]


def render(report: Report, *, color: bool = False, quiet: bool = False, base: Path) -> str:
    """A log of one run."""
    rules = {finding.code: finding for finding in reversed(report.findings)}
    index = {code: number for number, code in enumerate(sorted(rules))}
    results = [
        result(finding_in_file(finding, base), index[finding.code], known, base)
        for finding, known in zip(report.findings, fingerprints(report, base), strict=True)
    ]
    driver = {
        "name": "graphlint",
        "version": report.version,
        "rules": [descriptor(rules[code]) for code in sorted(rules)],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": f"{base.as_uri().rstrip('/')}/"}},
        "invocations": [invocation(report, base)],
        "automationDetails": {"id": f"graphlint/{report.witness}/"},
        "results": results,
        "properties": {"witness": report.witness, "summary": dataclasses.asdict(report.summary)},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def invocation(report: Report, base: Path) -> Node:
    """What there is to say of the run itself."""
    notes = [
        {
            "level": "warning",
            "message": {"text": shown_notice(notice, base)},
            "locations": [location(in_file(span, base)[0], "", base) for span in notice.places],
        }
        for notice in report.notices
    ]
    return {"executionSuccessful": True, "toolExecutionNotifications": notes}


def descriptor(finding: Finding) -> Node:
    """The rule of a finding, as far as the finding tells it."""
    name = finding.rule.replace("-", " ")
    command, page = page_command(finding.code), builtin_page(finding.code, finding.rule)
    return {
        "id": finding.code,
        "name": finding.rule,
        "shortDescription": {"text": name},
        "fullDescription": {"text": finding.why or name},
        "help": {"text": f"{finding.help}{command and f'; `{command}` says more'}"},
        **({"helpUri": page.as_uri()} if page else {}),
        "defaultConfiguration": {"level": str(finding.severity)},
    }


def result(finding: Finding, rule: int, identity: str, base: Path) -> Node:
    properties: Node = {"confidence": str(finding.confidence), "help": finding.help}
    if finding.when:
        properties["when"] = [shown_condition(one, base) for one in finding.when]
    entry: Node = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": str(finding.severity),
        "message": {"text": finding.message},
        "locations": [location(finding.span, finding.function, base)],
        "partialFingerprints": {"graphlint/v1": identity},
        "properties": properties,
    }
    if finding.regions:
        entry["codeFlows"] = [code_flow(finding, base)]
    others = [region_location(region, base) for region in finding.regions]
    others += [related_location(one, base) for one in finding.related]
    if others:
        entry["relatedLocations"] = [{"id": number, **place} for number, place in enumerate(others)]
    if finding.fix:
        entry["fixes"] = [fix_entry(finding.fix, base)]
    return entry


def code_flow(finding: Finding, base: Path) -> Node:
    """The way: the region opens, each call is made, the operation runs."""
    steps = [region_location(finding.regions[0], base)]
    for hop in finding.chain:
        span, said = in_file(Span(hop.path, hop.line), base)
        steps.append({**location(span, hop.function, base), "message": {"text": f"{said}calls"}})
    last = location(finding.span, finding.function, base)
    steps.append({**last, "message": {"text": finding.message}})
    return {"threadFlows": [{"locations": [{"location": step} for step in steps]}]}


def region_location(region: Region, base: Path) -> Node:
    opened = location(in_file(Span(region.path, region.line), base)[0], "", base)
    return {**opened, "message": {"text": f"capture region: {shown_region(region, base)}"}}


def related_location(related: Related, base: Path) -> Node:
    place, said = in_file(Span(related.path, related.line), base)
    return {**location(place, "", base), "message": {"text": f"{said}{related.text}"}}


def location(span: Span, function: str, base: Path) -> Node:
    place: Node = {"physicalLocation": {"artifactLocation": artifact(span.path, base), "region": extent(span)}}
    if function:
        place["logicalLocations"] = [{"fullyQualifiedName": function, "kind": "function"}]
    return place


def extent(span: Span) -> Node:
    """The span as a region of SARIF, whose end column is exclusive as well."""
    if not span.end_line or not span.end_column:
        return {"startLine": span.line, "startColumn": span.column}
    ends = {"endLine": span.end_line, "endColumn": span.end_column}
    return {"startLine": span.line, "startColumn": span.column, **ends}


def artifact(path: str, base: Path) -> Node:
    shown = shown_path(path, base)
    if Path(shown).is_absolute():
        return {"uri": Path(shown).as_uri()}
    return {"uri": urllib.parse.quote(os.fsencode(shown)), "uriBaseId": ROOT}


def fix_entry(fix: Fix, base: Path) -> Node:
    replacement = {"deletedRegion": extent(fix.span), "insertedContent": {"text": fix.text}}
    change = {"artifactLocation": artifact(fix.span.path, base), "replacements": [replacement]}
    safety = "safe" if fix.safe else "unsafe"
    return {"description": {"text": f"{safety} replacement"}, "artifactChanges": [change]}
