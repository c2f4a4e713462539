"""graphlint: is it safe to capture this into a CUDA graph and replay it?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from graphlint.finding import Report

__version__ = "0.1.0"

_Target = TypeVar("_Target")


def graph_safe(target: _Target) -> _Target:
    """Say that a function, method or class is captured somewhere: `graphlint check` takes it for a declared region.

    It is given back as it is, and costs nothing at run time.
    """
    return target


def verify(call: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None) -> Report:
    """Capture a callable on the GPU with these example arguments, replay it on fresh ones, and compare with eager.

    `call` is a function, a module, a training step, or an object with `capture()` and `replay(...)`. It runs in this
    process, which is cleaned up after a capture that fails. Needs PyTorch and a GPU; raises
    `graphlint.errors.UsageError` where either is missing, or `call` does not take the arguments.
    """
    from graphlint.runtime.inprocess import verify as verify_here

    return verify_here(call, args, kwargs or {})


def assert_graph_safe(
    call: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
) -> Report:
    """As `verify`; raises AssertionError with the report as text if there is a finding of error severity."""
    from pathlib import Path

    from graphlint.finding import Severity
    from graphlint.report import text

    report = verify(call, args, kwargs)
    if any(finding.severity is Severity.ERROR for finding in report.findings):
        raise AssertionError(f"not safe to capture\n\n{text.render(report, base=Path.cwd())}")
    return report
