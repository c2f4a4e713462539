"""A callable of this process in, a report out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from graphlint.finding import Finding, Report, Summary, TargetReport
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.runtime.findings import Findings
from graphlint.runtime.session import watch_for
from graphlint.runtime.target import made


def verify(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Report:
    """Take the callable apart here. Raises UsageError where that cannot be done."""
    name = getattr(call, "__qualname__", type(call).__qualname__)
    target = made((call, args, kwargs), name)
    started = time.perf_counter()
    found: dict[object, Finding] = {}
    findings = Findings(load_rulebook(builtin_rules()), found.__setitem__)
    watch, reporting = watch_for(findings)

    from graphlint.runtime.cuda.examine import look_at

    with watch.watching():
        measured = look_at(target, watch, reporting, lambda _step: None)
    summary = Summary(regions=len(watch.captures), seconds=time.perf_counter() - started)
    ordered = tuple(sorted(found.values(), key=lambda one: (one.span, one.code)))
    return Report("capture", ordered, summary, targets=(TargetReport(name, measured),))
