"""A report in, the findings of it that count out, and the text of an assertion that fails because of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from graphlint import suppression
from graphlint.config import Config, check_codes, load_rules, selected_codes
from graphlint.finding import Report, Severity, TargetReport
from graphlint.report import text
from graphlint.report.place import counted, shown_place
from graphlint.rulebook import Rulebook


def judge(report: Report, config: Config, rulebook: Rulebook | None = None) -> Report:
    """The report without the findings that the configuration or an ignore comment leaves out. Raises UsageError."""
    rulebook = rulebook or load_rules(config)
    check_codes(config, rulebook)
    selected = selected_codes(config, rulebook)
    findings = [one for one in report.findings if one.code in selected and config.shows(one)]
    kept, suppressed = suppression.apply_to_files(findings, rulebook, selected)
    summary = dataclasses.replace(report.summary, suppressed=report.summary.suppressed + suppressed)
    return dataclasses.replace(report, findings=kept, summary=summary)


def partly_graphed(target: TargetReport) -> str:
    """Why what was compiled does not run in CUDA graphs as a whole; empty where it does."""
    graphs, graphed = (int(target.measured.get(name, 0)) for name in ("compiled", "graphed"))
    if not graphs:
        return f"{target.name} compiles nothing that could run in CUDA graphs"
    said = f"{graphed} of {counted(graphs, 'compiled graph')} of {target.name} in CUDA graphs"
    return said if graphed < graphs else ""


def failure(report: Report, lowest: Severity, base: Path) -> str:
    """Why an assertion fails, if a finding is as severe as `lowest` or more; the first line says it in short."""
    failing = sorted((one for one in report.findings if one.severity >= lowest), key=lambda one: -one.severity)
    if not failing:
        return ""
    first, *others = failing
    names = ", ".join(target.name for target in report.targets) or "the target"
    place = f"{first.code} at {shown_place(first.span.path, first.span.line, base)}"
    more = f" and {counted(len(others), 'other finding')}" if others else ""
    return f"{place}{more}: {names} is not safe to capture\n\n{text.render(report, base=base)}"
