"""The runtime half: a target in, findings out. Nothing else imports torch, and nothing here imports libcst."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from graphlint import suppression
from graphlint.config import Config, selected_codes
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Finding, Report, Span, Summary, TargetReport
from graphlint.rulebook import Rulebook
from graphlint.runtime.examine.target import DEFAULT_RUNS, Runs, parse
from graphlint.runtime.session.hearing import Hearing
from graphlint.runtime.session.isolation import run_isolated, server
from graphlint.runtime.session.session import CUDA, Session, Stage, Witness, require_torch


def verify(
    targets: Sequence[str],
    config: Config,
    rulebook: Rulebook,
    *,
    on: str = "auto",
    runs: Runs = DEFAULT_RUNS,
    shapes_only: bool = False,
    deadline: float = DEADLINE,
    progress: Callable[[str, str], None] | None = None,
) -> Report:
    """Capture each target in a process of its own that has `deadline` seconds.

    `on` is `cuda`, `emulator`, or `auto` for the emulator where there is no GPU. With `shapes_only`, the emulator takes
    no memory for tensors and computes no numbers, so that nothing is compared. A target that cannot be looked at has
    a `problem` in its report, and the others are looked at all the same. `progress` gets a target's name and what is
    being done with it. Raises UsageError where `cuda` finds no GPU or is asked for shapes only, and for a target that
    is named in a wrong way.
    """
    if shapes_only and on == CUDA:
        raise UsageError("a GPU computes numbers; `--shapes-only` is for the emulator")
    started = time.perf_counter()
    specs = [parse(target) for target in targets]
    selected = selected_codes(config, rulebook)
    require_torch()
    reports, findings, witness = [], [], ""

    def told(name: str, message: Stage | Witness) -> None:
        nonlocal witness
        if isinstance(message, Witness):
            witness = message.name
        elif progress is not None:
            progress(name, message.name)

    context = server()
    for spec in specs:
        session = Session(spec, tuple(config.rules), on, runs, shapes_only)
        report, found = _look(context, session, rulebook, deadline, told)
        reports.append(report)
        findings += [one for one in found if one.code in selected and config.shows(one)]
    findings = sorted(_distinct(findings), key=lambda one: (one.span, one.code))
    kept, suppressed = suppression.apply_to_files(findings, rulebook, selected)
    summary = Summary(
        files=len(specs),
        regions=int(sum(report.measured.get("captures", 0) for report in reports)),
        suppressed=suppressed,
        seconds=time.perf_counter() - started,
    )
    return Report(witness or "capture", kept, summary, targets=tuple(reports))


def _look(
    context: object, session: Session, rulebook: Rulebook, deadline: float, told: Callable[[str, Stage | Witness], None]
) -> tuple[TargetReport, list[Finding]]:
    spec = session.spec
    hearing = Hearing(lambda message: told(spec.name, message))
    ending = run_isolated(context, session, deadline, hearing)
    hearing.end(ending, spec.name, Span(str(spec.path or spec.module), 1), rulebook)
    return TargetReport(spec.name, hearing.measured, hearing.problem, hearing.unseen), hearing.findings


def _distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Two targets may reach the same line."""
    kept: dict[object, Finding] = {}
    for one in findings:
        known = kept.setdefault((one.code, one.span), one)
        if known is not one:
            regions = tuple(sorted({*known.regions, *one.regions}))
            kept[one.code, one.span] = replace(known, regions=regions)
    return list(kept.values())
