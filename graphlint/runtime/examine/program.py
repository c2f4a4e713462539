"""A program that captures by itself in; what its captures and replays show out."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType

from graphlint.errors import UsageError
from graphlint.runtime.judge.reporting import Reporting
from graphlint.runtime.trace.capture import Refusal
from graphlint.runtime.watch.failures import chain, raised, told, unmodelled
from graphlint.runtime.watch.watch import Watch


def run_program(path: Path, watch: Watch, reporting: Reporting) -> None:
    """Run the program; how it fails is a finding, where nothing else explains it. Raises UsageError as it does."""
    findings = reporting.findings
    sys.argv = [str(path)]
    sys.path[0] = str(path.parent)
    failure: BaseException | None = None
    watch.awaits_failure = True
    with watch.watching():
        try:
            _run(path)
        except SystemExit as error:
            failure = error if error.code else None
        except BaseException as error:
            failure = error
        unfinished = watch.recorder.capture
        if unfinished is not None:
            if failure is not None and unmodelled(failure) is None and not unfinished.refusals:
                unfinished.refusals.append(raised(failure, unfinished.stack))
            if not unfinished.refusals:
                said = "it is never ended"
                unfinished.refusals.append(Refusal("", said, unfinished.stack, effect="capture-protocol"))
            unfinished.is_healthy = False
            reporting.capture_ended(unfinished)
        passed = list(chain(failure))
        for raising, capture, refusal in watch.failures:
            if raising in passed:
                capture.refusals.append(refusal)
                reporting.capture_ended(capture)
        reporting.tell_doubts()
        reporting.ended(has_failed=failure is not None)
        if (unusable := unmodelled(failure)) is not None:
            raise unusable
        if failure is None or findings.explain_failure:
            return
        cause = raised(failure)
        if isinstance(failure, AssertionError):
            reporting.check_failed(cause.said)
        if not findings.explain_failure:
            if isinstance(failure, AssertionError):
                _require_known(failure, watch.driver.guessed)
            findings.add("target-failure", cause.stack, operation=type(failure).__name__, said=told(failure))


def _require_known(failure: AssertionError, guessed: Collection[str]) -> None:
    """Raises UsageError where a check of the program may fail by what the device only guesses."""
    if guessed:
        said = f"{told(failure)}; this may come of {' and of '.join(guessed)}"
        raise UsageError(f"{said}, which the emulator does not know; only a GPU can tell")


def _run(path: Path) -> None:
    """As Python does, and the module stays: what is judged afterwards looks up there what a name means."""
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = str(path)
    exec(compile(path.read_bytes(), path, "exec"), vars(main))
