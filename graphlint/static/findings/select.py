"""All findings in, those that the user wants to see out: selection, suppression, confidence, unreadable files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graphlint.config import Config, selected_codes
from graphlint.finding import Finding, Span
from graphlint.reading import reads
from graphlint.rulebook import Rulebook
from graphlint.static.index.project import Problems, Project
from graphlint.suppression import apply, parse

_UNREADABLE = "GL001"


def settle_findings(
    found: list[Finding],
    reached: Iterable[str],
    problems: Problems,
    project: Project,
    config: Config,
    rulebook: Rulebook,
) -> tuple[tuple[Finding, ...], int]:
    """The findings to report, in order of place, and how many a comment suppresses."""
    selected = selected_codes(config, rulebook)
    findings = [finding for finding in found if finding.code in selected]
    if _UNREADABLE in selected:
        findings += unreadable_sources(problems, project, rulebook)
    comments = {path: project.module_at(Path(path)).ask(parse) for path in reached}
    kept, suppressed, unused = apply(findings, comments, rulebook, selected)
    shown = filter(config.shows, (*kept, *unused))
    return tuple(sorted(shown, key=lambda f: (f.span, f.code))), suppressed


def unreadable_sources(problems: Problems, project: Project, rulebook: Rulebook) -> list[Finding]:
    """One finding for each file that could not be read or parsed."""
    rule = rulebook.rule(_UNREADABLE)
    return [
        rule.finding(
            Span(str(path), line, 1, line, 1),
            f"this file {text}",
            project.module_at(path).name if path.suffix in reads.SOURCES else path.stem,
        )
        for path, (text, line) in problems.items()
    ]
