"""A test in, its report out, from a fork of this process in which torch finds an emulated GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from graphlint.asserting import read_settings
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Severity, Span
from graphlint.pytest_plugin import MARKER
from graphlint.verdict import failure


def run_emulated(item: pytest.Function, given: Mapping[str, Any]) -> pytest.TestReport | None:
    """Call the test function there, as pytest does here; None where the emulator does not answer for this test.

    A test that wants a GPU is skipped or fails where there is none, before it asks torch for one. What the function
    leaves in this process, as a variable that it sets, is lost; what it records for the report is not.
    """
    from graphlint.runtime import inprocess
    from graphlint.runtime.session import EMULATOR, NoDeviceError, is_emulated, witness

    try:
        settings = read_settings(given)
        if is_emulated() or witness(settings.on.removeprefix("require-")) != EMULATOR:
            return None
        seconds = DEADLINE if settings.deadline is None else settings.deadline
        home = Span(str(item.path), (item.location[1] or 0) + 1)
        sent, report = inprocess.emulated(lambda: _called(item), item.name, home, seconds)
    except NoDeviceError as error:
        if settings.on == "cuda":
            pytest.skip(f"graphlint: {error}")
        pytest.fail(f"graphlint: {error}", pytrace=False)
    except UsageError as error:
        pytest.fail(f"graphlint: {error}", pytrace=False)
    if sent is None:
        item.user_properties.append((MARKER, "emulated"))
        pytest.fail(failure(report, Severity.NOTE, item.config.invocation_params.dir), pytrace=False)
    told, item.user_properties[:] = sent
    found: pytest.TestReport = item.config.hook.pytest_report_from_serializable(config=item.config, data=told)
    return found


def _called(item: pytest.Function) -> tuple[dict[str, Any], list[tuple[str, object]]]:
    """What became of the function, in a form that can be sent."""
    # The whole phase, so that what listens to a test listens there: to what it prints, and to what it logs.
    call = pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), when="call")
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    told: dict[str, Any] = item.config.hook.pytest_report_to_serializable(config=item.config, report=report)
    return told, item.user_properties


def take_over(report: pytest.TestReport, found: pytest.TestReport) -> None:
    """Let the report of the call here say what became of it there."""
    report.outcome, report.longrepr = found.outcome, found.longrepr
    report.sections += [section for section in found.sections if section not in report.sections]
    if hasattr(found, "wasxfail"):
        report.wasxfail = found.wasxfail
