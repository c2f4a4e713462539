"""A callable of this process in, a report out."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from graphlint.config import Config, selected_codes
from graphlint.deadline import deadline
from graphlint.errors import UsageError
from graphlint.finding import Report, Span, Summary, TargetReport
from graphlint.rulebook import builtin_rulebook, builtin_rules, load_rulebook
from graphlint.runtime.examine.target import Runs, Target, made
from graphlint.runtime.judge.findings import NOWHERE, Findings
from graphlint.runtime.session.forked import run_forked
from graphlint.runtime.session.hearing import Hearing, failure
from graphlint.runtime.session.ranks import snapshot_of
from graphlint.runtime.session.session import (
    AUTO,
    CUDA,
    EMULATOR,
    Contracted,
    Measured,
    Send,
    contracts_of,
    counts,
    emulate,
    is_emulated,
    tell,
    unseen,
    watch_for,
    witness,
)
from graphlint.runtime.session.verdicts import judged


def verify(
    call: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    *,
    on: str,
    runs: Runs,
    seconds: float,
    allocations: str,
    rules: Iterable[Path] = (),
    has_contracts: bool = False,
    contract: Path | None = None,
) -> Report:
    """Take the callable apart: here, or in a fork of this process if it is emulated. Raises UsageError if it cannot."""
    if on not in (AUTO, CUDA, EMULATOR):
        raise UsageError(f"`on` is `{AUTO}`, `{CUDA}` or `{EMULATOR}`, not `{on}`")
    named = inspect.unwrap(call)
    name = getattr(named, "__qualname__", type(named).__qualname__)
    target = dataclasses.replace(made((call, args, kwargs), name), runs=runs)
    where, hearing, rulebook = witness(on), Hearing(), load_rulebook(builtin_rules(), *rules)
    snapshot = snapshot_of(contract, rulebook)
    reported = selected_codes(Config(Path(), allocations=allocations), rulebook)
    look = functools.partial(_look, target, where, has_contracts or snapshot is not None)
    work = functools.partial(tell, look, rulebook=rulebook)
    started = time.perf_counter()
    if where == EMULATOR and not is_emulated():
        ending = run_forked(work, seconds, hearing)
        hearing.end(ending, name, _home(call), rulebook)
    else:
        with deadline(seconds):
            work(hearing)
    if hearing.problem:
        raise UsageError(hearing.problem)
    summary = Summary(regions=int(hearing.measured.get("captures", 0)), seconds=time.perf_counter() - started)
    found = hearing.findings
    if snapshot is not None and hearing.contracts is not None:
        found += snapshot.compare(name, hearing.contracts)
    findings = [dataclasses.replace(one, targets=(name,)) for one in found if one.code in reported]
    ordered = tuple(sorted(findings, key=lambda one: (one.span, one.code)))
    witnessed = "emulator" if where == EMULATOR else "capture"
    contracts = hearing.contracts or () if has_contracts else ()
    about = judged(TargetReport(name, hearing.measured, unseen=hearing.unseen, contracts=contracts), found, rulebook)
    if about.problem:
        raise UsageError(about.problem)
    notices = snapshot.end() if snapshot is not None else ()
    return Report(witnessed, ordered, summary, targets=(about,), notices=notices)


def _look(target: Target, where: str, has_contracts: bool, findings: Findings, send: Send) -> None:
    watch, reporting = watch_for(findings, where)
    contracts = contracts_of(watch) if has_contracts else None
    send(unseen(watch, reporting))

    from graphlint.runtime.examine.look import look_at

    if where == EMULATOR:
        _settle(target)
    with watch.watching():
        measured = look_at(lambda: target, watch, reporting, lambda _step: None)
    send(unseen(watch, reporting))
    send(Measured(measured | counts(watch, reporting)))
    if contracts is not None:
        send(Contracted(contracts.made()))


def _settle(target: Target) -> None:
    """Where nothing in reach lies on the device, it was made where there is none, and all of it counts as there."""
    from graphlint.runtime.compare.state import reachable
    from graphlint.runtime.device.emulator.residence import Kind

    tensors = reachable(target.call, target.args, target.kwargs).tensors.values()
    if not any(tensor.is_cuda for tensor in tensors):
        for tensor in tensors:
            emulate().residence.place(tensor, Kind.DEVICE)


def _home(call: Callable[..., Any]) -> Span:
    from graphlint.runtime.watch.hooks import code_of

    code = code_of(call)
    return Span(code.co_filename, code.co_firstlineno) if code is not None else NOWHERE


def emulated(work: Callable[[], Any], name: str, home: Span, seconds: float) -> tuple[Any, Report]:
    """What a piece of this program gives where torch finds an emulated GPU, in a fork of this process.

    None, and a report that says why, where it comes to a bad end. Raises UsageError where this process has no fork.
    """
    given: list[Any] = []
    started = time.perf_counter()
    ending = run_forked(lambda send: send((work(),)), seconds, given.extend)
    findings = (failure(ending, name, home, builtin_rulebook()),) if ending.how else ()
    summary = Summary(seconds=time.perf_counter() - started)
    return next(iter(given), None), Report("emulator", findings, summary, targets=(TargetReport(name),))


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
