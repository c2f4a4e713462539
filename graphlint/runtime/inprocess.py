"""A callable of this process in, a report out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any

from graphlint.errors import UsageError
from graphlint.finding import Finding, Report, Summary, TargetReport
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.runtime.judge.findings import Findings
from graphlint.runtime.session import AUTO, CUDA, watch_for, witness
from graphlint.runtime.target import Runs, made


def verify(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], on: str, runs: Runs) -> Report:
    """Take the callable apart here. Raises UsageError where that cannot be done."""
    if on not in (AUTO, CUDA):
        raise UsageError(f"`on` is `{AUTO}` or `{CUDA}`, not `{on}`")
    name = getattr(call, "__qualname__", type(call).__qualname__)
    target = dataclasses.replace(made((call, args, kwargs), name), runs=runs)
    started = time.perf_counter()
    found: dict[object, Finding] = {}
    findings = Findings(load_rulebook(builtin_rules()), found.__setitem__)
    watch, reporting = watch_for(findings, witness(CUDA))

    from graphlint.runtime.examine.look import look_at

    with watch.watching():
        measured = look_at(target, watch, reporting, lambda _step: None)
    summary = Summary(regions=len(watch.captures), seconds=time.perf_counter() - started)
    ordered = tuple(sorted(found.values(), key=lambda one: (one.span, one.code)))
    return Report("capture", ordered, summary, targets=(TargetReport(name, measured),))


def device() -> str:
    """The name of the GPU that captures here."""
    import torch

    return str(torch.cuda.get_device_name())


def is_healthy() -> bool:
    """Whether this process can capture: a broken device stays broken until the process ends."""
    import torch

    from graphlint.runtime.examine.recovery import is_healthy as captures

    try:
        return captures(torch.cuda.Stream())
    except RuntimeError:
        return False
