"""Paths and the options of `check` in, what there is to report on them out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphlint import baseline as baselines
from graphlint.config import Config, check_codes, extend_config, load_config, load_rules
from graphlint.discovery import is_empty
from graphlint.finding import NO_FILE, Confidence, Notice, Report, Summary
from graphlint.progress import progress_on

if TYPE_CHECKING:
    from graphlint.rulebook import Rulebook

if TYPE_CHECKING:
    from graphlint.static.index.memory import Memory


def configure(
    *, start: Path, config_file: Path | None, confidence: str | None, **options: Any
) -> tuple[Config, Rulebook]:
    """What a run is told, and the rules that it has. Raises UsageError."""
    config = _settings(start, config_file, confidence, options)
    return config, _rules(config, options["rules"])


def _settings(start: Path, file: Path | None, confidence: str | None, options: dict[str, Any]) -> Config:
    lowest = Confidence[confidence.upper()] if confidence else None
    return extend_config(load_config(start, file), confidence=lowest, **options)


def _rules(config: Config, given: tuple[Path, ...]) -> Rulebook:
    rulebook = load_rules(config, given)
    check_codes(config, rulebook)
    return rulebook


def find_out(
    paths: tuple[Path, ...],
    *,
    start: Path,
    config_file: Path | None,
    confidence: str | None,
    with_known: bool = False,
    memory: Memory | None = None,
    **options: Any,
) -> Report:
    """Look at the paths, configured from `start` or a file. Raises UsageError.

    What a baseline knows is left out, or not, `with_known`. A memory makes the next run with the same options cheaper.
    """
    config = _settings(start, config_file, confidence, options)
    if config == Config(config.root) and is_empty(paths, config.exclude, config.root):
        return Report("static", (), Summary(), notices=(NO_FILE,))  # without loading what looks at files
    rulebook = _rules(config, options["rules"])
    from graphlint import static

    with progress_on(sys.stderr) as progress:
        report = static.check(paths, config, rulebook, progress, memory)
    if config.baseline is None or with_known:
        return report
    report, gone = baselines.apply(report, paths, config.baseline)
    narrowed = confidence or options["select"] or options["ignore"]
    fixed = tuple(Notice(f"{config.baseline}: fixed, and can be removed: {known}") for known in gone)
    return report if narrowed else replace(report, notices=(*report.notices, *fixed))
