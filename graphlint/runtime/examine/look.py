"""A target in, what it is taken apart as, and how it failed, out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from graphlint.runtime.examine.examine import Examination, Progress
from graphlint.runtime.examine.runner import examine_runner
from graphlint.runtime.examine.target import Runs, Spec, Target, load
from graphlint.runtime.judge.reporting import Reporting
from graphlint.runtime.watch.failures import raised, told, unmodelled
from graphlint.runtime.watch.watch import Watch


def run_target(spec: Spec, runs: Runs, watch: Watch, reporting: Reporting, step: Progress) -> dict[str, float]:
    """Load a target and look at it; what was measured."""

    def loaded() -> Target:
        step("load")
        return replace(load(spec), runs=runs)

    with watch.watching():
        return look_at(loaded, watch, reporting, step)


def look_at(loaded: Callable[[], Target], watch: Watch, reporting: Reporting, step: Progress) -> dict[str, float]:
    """Take a target apart; how it fails is a finding, where nothing else explains it."""
    measured: dict[str, float] = {}
    has_failed = False
    try:
        measured = examine(loaded(), watch, reporting, step)
    except (Exception, SystemExit) as error:
        if (unusable := unmodelled(error)) is not None:
            raise unusable from None
        has_failed = True
        if not reporting.findings.explain_failure:
            stack = raised(error).stack or watch.opening
            reporting.findings.add("target-failure", stack, operation=type(error).__name__, said=told(error))
    reporting.ended(has_failed=has_failed)
    return measured


def examine(target: Target, watch: Watch, reporting: Reporting, step: Progress) -> dict[str, float]:
    """Take a target apart; what was measured, by name."""
    if target.replay is not None:
        step("capture")
        target.call()
        step("replay")
        return examine_runner(target.replay, target.eager, (target.args, dict(target.kwargs)), reporting)
    return Examination(target, watch, reporting, step).run()
