"""The runtime half: a target in, findings out. Nothing else imports torch, and nothing here imports libcst.

`verify` gives each target a process of its own, whose messages are heard even if it dies. What happens there, by
floor; imports go down this list, and never up:

- `session` parts the processes, loads what the witness needs, and sends each finding when it is found;
- `examine` takes one target through its steps: eager reference, warm-up, capture (again past each refused operator,
  with the value that eager gave, so that one run finds all causes), replays on fresh inputs beside eager,
  measurements;
- `judge` turns what was recorded into effects, and these into findings by the rulebook: when a capture ends, before
  each replay, and when the target has run;
- `watch` stands around the program while it runs: a dispatch mode sees each operator, stand-ins take note of calls
  that a capture does not allow, hooks on lines see which state of the host is read and written;
- `device` is what captures, a real GPU or the emulator, behind one protocol; `compare` tells how far two runs are
  apart, in values, in the state within reach, and operator by operator, by the noise of two eager runs;
- `trace` is what is taken down: places in the source, operators, nodes, bindings, captures. It knows nobody.

A program that captures by itself runs, is watched, and is judged in the same way. What it captures is run again
without a graph (`examine.reruns`), from the state that a replay finds: the body of a `with`, what stands between
`capture_begin` and `capture_end`, or a callable of `make_graphed_callables`. What both give is compared, and what the
second run does is undone. Downwards go calls. Upwards, a watch tells those who have put themselves into its lists
(`began`, `ended`, `replaying`, `replayed`, `graphed`).

Unseen or unsound on purpose: one run is one way through the code, and what example arguments do not reach is not
judged. A word in the parameters of a kernel counts as an address if it lies in memory that an operator of that kernel
was given; data may look like one, and pointers behind a pointer are not followed. Waiting operators are known by
running eager with torch's debugging of synchronisations, which some library calls evade; the driver's own log, where
there is one, closes the gap. The first three replays of a graph are compared, later ones at powers of two; a block
whose source is not there, which takes from an iterator, which another thread replays or which fails when it runs
again is named as not compared, and what it does to files, or to state beyond reach, is not undone. The host is one
clock, whichever thread waits. Nothing listens to lines where a debugger or a coverage tool does. A difference below
ten times the noise floor, or of a few units in the last place, is none. The state within reach ends after 100,000
objects. The emulator models order, memory and refusals, and neither parallel streams nor what the allocator reuses;
where a check of the program fails after it has asked for such a thing, that is said, and nothing against the program.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from graphlint import suppression
from graphlint.config import Config, selected_codes
from graphlint.deadline import DEADLINE
from graphlint.errors import UsageError
from graphlint.finding import Finding, Report, Span, Summary, TargetReport
from graphlint.rulebook import Rulebook
from graphlint.runtime.examine.target import DEFAULT_RUNS, Runs, parse
from graphlint.runtime.session.hearing import Hearing
from graphlint.runtime.session.isolation import run_isolated, server
from graphlint.runtime.session.ranks import snapshot_of
from graphlint.runtime.session.session import CUDA, Session, Stage, Witness, require_torch
from graphlint.runtime.session.verdicts import FAILURE, judged
from graphlint.snapshot import Snapshot


def verify(
    targets: Sequence[str],
    config: Config,
    rulebook: Rulebook,
    *,
    on: str = "auto",
    runs: Runs = DEFAULT_RUNS,
    shapes_only: bool = False,
    has_contracts: bool = False,
    contract: Path | None = None,
    deadline: float = DEADLINE,
    progress: Callable[[str, str], None] | None = None,
    environment: Callable[[int], Mapping[str, str]] = lambda _: {},
) -> Report:
    """Capture each target in a process of its own that has `deadline` seconds.

    `on` is `cuda`, `emulator`, or `auto` for the emulator where there is no GPU. With `shapes_only`, the emulator takes
    no memory for tensors and computes no numbers, so that nothing is compared. With `has_contracts`, the report says
    what each graph depends on and what it changes; rank 0 of a job compares that with the file `contract`, and adds it
    where that knows nothing of it. A target that cannot be looked at has a `problem` in its report, and the others are
    looked at all the same. `progress` gets a target's name and what is being done with it; `environment` gives the
    variables for the process of the n-th target. Raises UsageError where `cuda` finds no GPU or is asked for shapes
    only, for a target that is named in a wrong way, and for a file that holds no contract.
    """
    if shapes_only and on == CUDA:
        raise UsageError("a GPU computes numbers; `--shapes-only` is for the emulator")
    started, specs = time.perf_counter(), [parse(target) for target in targets]
    selected = selected_codes(config, rulebook)
    require_torch()
    context = server()
    reports, findings, told = [], [], _Told(progress)
    snapshot = snapshot_of(contract, rulebook)

    for number, spec in enumerate(specs):
        with_contracts = has_contracts or snapshot is not None
        session = Session(spec, rulebook, on, runs, shapes_only, with_contracts, environment(number))
        report, found = _look(context, session, rulebook, deadline, told, snapshot)
        reports.append(report if has_contracts else replace(report, contracts=()))
        findings += [replace(one, targets=(spec.name,)) for one in found if one.code in selected and config.shows(one)]
    findings = sorted(_distinct(findings), key=lambda one: (one.span, one.code))
    kept, suppressed = suppression.apply_to_files(findings, rulebook, selected)
    captures = sum(report.measured.get("captures", 0) for report in reports)
    summary = Summary(len(specs), int(captures), suppressed=suppressed, seconds=time.perf_counter() - started)
    notices = snapshot.end() if snapshot is not None else ()
    return Report(told.witness or "capture", kept, summary, targets=tuple(reports), notices=notices)


class _Told:
    """Hears what is done with a target, and who answers, which is the same for all of them."""

    def __init__(self, progress: Callable[[str, str], None] | None) -> None:
        self.progress = progress
        self.witness = ""

    def __call__(self, name: str, message: Stage | Witness) -> None:
        if isinstance(message, Witness):
            self.witness = message.name
        elif self.progress is not None:
            self.progress(name, message.name)


def _look(
    context: object,
    session: Session,
    rulebook: Rulebook,
    deadline: float,
    told: Callable[[str, Stage | Witness], None],
    snapshot: Snapshot | None,
) -> tuple[TargetReport, list[Finding]]:
    spec = session.spec
    hearing = Hearing(lambda message: told(spec.name, message))
    ending = run_isolated(context, session, deadline, hearing)
    hearing.end(ending, spec.name, Span(str(spec.path or spec.module), 1), rulebook)
    report = TargetReport(
        spec.name,
        hearing.measured,
        hearing.problem,
        hearing.unseen,
        contracts=hearing.contracts or (),
        collectives=hearing.collectives,
    )
    found = hearing.findings
    if snapshot is not None and hearing.contracts is not None:
        found += snapshot.compare(spec.name, hearing.contracts)
    return judged(report, found, rulebook), found


def _distinct(findings: Iterable[Finding]) -> list[Finding]:
    """Two targets may reach the same line; but how each of them fails is its own, as is each part of a contract."""
    kept: dict[object, Finding] = {}
    for one in findings:
        key = one.code, one.span, one.message, one.targets if one.rule == FAILURE else ()
        known = kept.setdefault(key, one)
        if known is not one:
            regions = tuple(sorted({*known.regions, *one.regions}))
            kept[key] = replace(known, regions=regions, targets=(*known.targets, *one.targets))
    return list(kept.values())
