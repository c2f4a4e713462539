"""The runtime half: a target in, findings out. Nothing else imports torch, and nothing here imports libcst."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from graphlint import suppression
from graphlint.config import Config, selected_codes
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Finding, Report, Span, Summary, TargetReport
from graphlint.paths import normal
from graphlint.rulebook import Rulebook
from graphlint.runtime.isolation import Ending, run_isolated, server
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.places import is_user_code
from graphlint.runtime.session import Found, Measured, Session, Step, Unusable, Witness, require_torch
from graphlint.runtime.target import Spec, parse


def verify(
    targets: Sequence[str],
    config: Config,
    rulebook: Rulebook,
    *,
    on: str = "auto",
    deadline: float = DEADLINE,
    progress: Callable[[str, str], None] | None = None,
) -> Report:
    """Capture each target in a process of its own that has `deadline` seconds.

    `on` is `cuda`, `emulator`, or `auto` for the emulator where there is no GPU. A target that cannot be looked at has
    a `problem` in its report, and the others are looked at all the same. `progress` gets a target's name and what is
    being done with it. Raises UsageError where `cuda` finds no GPU, and for a target that is named in a wrong way.
    """
    started = time.perf_counter()
    specs = [parse(target) for target in targets]
    selected = selected_codes(config, rulebook)
    require_torch()
    reports, findings, witness = [], [], ""

    def told(name: str, message: Step | Witness) -> None:
        nonlocal witness
        if isinstance(message, Witness):
            witness = message.name
        elif progress is not None:
            progress(name, message.name)

    context = server()
    for spec in specs:
        report, found = _look(context, Session(spec, tuple(config.rules), on), rulebook, deadline, told)
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
    context: object,
    session: Session,
    rulebook: Rulebook,
    deadline: float,
    told: Callable[[str, Step | Witness], None],
) -> tuple[TargetReport, list[Finding]]:
    spec = session.spec
    findings: dict[object, Finding] = {}
    measured: dict[str, float] = {}
    unusable: list[str] = []

    def heard(message: object) -> None:
        match message:
            case Found(key, finding):
                findings[key] = dataclasses.replace(
                    finding, span=dataclasses.replace(finding.span, path=str(normal(Path(finding.span.path))))
                )
            case Measured(values):
                measured.update(values)
            case Unusable(reason, is_of_machine=True):
                raise UsageError(reason)
            case Unusable(reason):
                unusable.append(reason)
            case Step() | Witness():
                told(spec.name, message)

    ending = run_isolated(context, session, deadline, heard)
    if ending.how and not unusable:
        findings["end"] = _failure(spec, ending, rulebook)
    found = list(findings.values())
    return TargetReport(spec.name, measured, *unusable), found


def _failure(spec: Spec, ending: Ending, rulebook: Rulebook) -> Finding:
    """How the process of a target ended, at the innermost line of user code where it was."""
    found: dict[object, Finding] = {}
    frames = [frame for frame in ending.frames if is_user_code(frame[0])]
    path, line, function = frames[0] if frames else (str(spec.path or spec.module), 1, "")
    span = Span(str(normal(Path(path))), line)
    Findings(rulebook, found.__setitem__).add("target-failure", (), operation=spec.name, span=span, said=ending.how)
    (finding,) = found.values()
    return dataclasses.replace(finding, function=function)


def _distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Two targets may reach the same line."""
    kept: dict[object, Finding] = {}
    for one in findings:
        known = kept.setdefault((one.code, one.span), one)
        if known is not one:
            regions = tuple(sorted({*known.regions, *one.regions}))
            kept[one.code, one.span] = dataclasses.replace(known, regions=regions)
    return list(kept.values())
