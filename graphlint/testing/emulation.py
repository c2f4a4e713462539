"""A test in, its reports out, from a fork of this process in which torch finds an emulated GPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest
from _pytest.runner import runtestprotocol

from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Severity, Span
from graphlint.testing.options import MARKER
from graphlint.testing.settings import Settings, read_settings
from graphlint.testing.verdict import failure


def require_witness(given: Mapping[str, Any]) -> None:
    """Skip or fail a test for which nobody can answer as its settings ask, before it asks torch for a GPU."""
    from graphlint.runtime.session.session import NoDeviceError

    try:
        settings = read_settings(given)
        _is_emulator_asked(settings)
    except UsageError as error:
        said = f"graphlint: {error}"
        if isinstance(error, NoDeviceError) and settings.on == "cuda":
            raise pytest.skip.Exception(said, _use_item_location=True) from None
        raise pytest.fail.Exception(said, pytrace=False) from None


def run_emulated(item: pytest.Function, nextitem: pytest.Item | None, given: Mapping[str, Any]) -> bool:
    """Run all of a test there, its fixtures too, and report it as pytest does; False if the emulator is not asked.

    Fixtures of a wider scope that only such tests use are made for each of them. What a test leaves in this process,
    as a variable that it sets, is lost; what it records for its report is not.
    """
    try:
        settings = read_settings(given)
        if not _is_emulator_asked(settings):
            return False
    except UsageError:
        return False  # the setup of the test tells of it
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item, DEADLINE if settings.deadline is None else settings.deadline):
        item.ihook.pytest_runtest_logreport(report=report)
    # What tests before this one have set up here, and the next one does not use.
    ended = _phase(item, "teardown", functools.partial(item.session._setupstate.teardown_exact, nextitem))
    if ended.failed:
        item.ihook.pytest_runtest_logreport(report=ended)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _is_emulator_asked(settings: Settings) -> bool:
    """Whether the emulator answers, and not for this process already. Raises NoDeviceError."""
    from graphlint.runtime.session.session import EMULATOR, is_emulated, witness

    return not is_emulated() and witness(settings.on.removeprefix("require-")) == EMULATOR


def _reports(item: pytest.Function, seconds: float) -> list[pytest.TestReport]:
    """Those of the phases of the test; for a bad end, one that says so and that of a teardown."""
    from graphlint.runtime.session import inprocess

    home = Span(str(item.path), (item.location[1] or 0) + 1)
    try:
        sent, found = inprocess.emulated(functools.partial(_run, item), item.name, home, seconds)
    except UsageError as error:
        said = f"graphlint: {error}"
    else:
        if sent is not None:
            load = item.config.hook.pytest_report_from_serializable
            return [load(config=item.config, data=data) for data in sent]
        item.user_properties.append((MARKER, "emulated"))
        said = failure(found, Severity.NOTE, item.config.invocation_params.dir)
    fail = functools.partial(pytest.fail, said, pytrace=False)
    return [_phase(item, "call", fail), _phase(item, "teardown", lambda: None)]


def _run(item: pytest.Function) -> list[dict[str, Any]]:
    """The reports in a form that can be sent."""
    for finalizers, _ in item.session._setupstate.stack.values():
        finalizers.clear()  # what was set up before the fork is not this process's to tear down
    save = item.config.hook.pytest_report_to_serializable
    return [save(config=item.config, report=report) for report in runtestprotocol(item, log=False)]


def _phase(item: pytest.Function, when: Literal["call", "teardown"], run: Callable[[], object]) -> pytest.TestReport:
    call = pytest.CallInfo.from_call(run, when)
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report
