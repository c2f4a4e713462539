"""The static half: sources in, findings out. Nothing here imports torch, and nothing that is looked at is run.

It is an abstract interpretation of what capture regions reach, one package a step, each importing only those before it:

- `syntax` lowers functions to an intermediate representation, on demand and piece by piece, from trees of `ast`, or of
  libcst where only another release of Python can read them;
- `index` knows what each module defines and imports, without parsing bodies, and finds modules by name;
- `domain` holds what is computed: values (`graphlint.values`, and those that a program defines), function summaries,
  and the `Evaluator` protocol. Values form a lattice: `union` joins them where paths meet, and has a bound on members,
  elements and depth (widening), so that loops and recursion reach a fixpoint;
- `facts` answers what rules ask of the program around an event; `models` holds the transfer functions of everything
  that is not followed: operations of the catalogue, Python's own functions, containers, modules of torch;
- `interpreter` runs functions over the domain. A call leads to a context, which is the summary of a function for one
  kind of arguments: the key is the function, its bound values, the versions of the objects among them, whether a region
  is open, and the context managers in force. So it is context-sensitive in values, not in call strings. What happens in
  a region is an event; the detectors of the rulebook turn events into effects, which contexts keep;
- `regions` finds where captures begin, in the code and by declaration, and runs the interpreter there;
- `life` rehearses the code around those regions, one path at a time, on objects with identities (symbolic execution):
  construct, warm up, capture, fill, replay, read, release. What a graph needs between these is asked there, and not in
  the interpreter, which joins paths and keeps no order; unknown calls may do anything to what they are given. What is
  declared is captured there too, alone, for what it does to streams, if it or what it calls, three calls deep, does;
- `findings` walks the graph of contexts from each region (it is the call graph), and keeps the shortest way to each.

Bounds, and what they cost: a function gets at most 16 contexts, and 6 when there are 50,000 in all, then its arguments
are widened; calls nest 70 deep, 10 before a region, where only the kinds of values matter; a call goes to at most 24
functions, and a value is one of at most 24; a container that holds more than 3,000 values, those inside of others
counted each time, is known by their kinds alone. Loops run three rounds: numbers become a kind in the second, and what
a name gets from another in the round before has arrived in the third; what has not settled by then is left as it is.
Loops inside each other share 2,000 runs of the innermost body. What is beyond a bound is unknown, and silent; but a
function or statement that nests too deep to be parsed is told (GL001).

Unsound on purpose, since alarms that are none cost more than misses: what is not known has no effect; both branches of
an unknown condition are run and joined, so two conditions that exclude each other are not seen to, but for a test that
is asked twice in a function, and what is said of such a way is told in a low voice (`findings.origins`); objects made
with the same arguments are one object (the heap is keyed by class and arguments); writes through one alias are not seen
through another; the order in which methods of one object are called is not followed, but for one that is made on the
way (`interpreter.recent`); of classes in the branches of one statement the longest is meant; what a capture keeps in an
object that it makes for itself is told in a low voice (`interpreter.escapes`), and so are what is named for other
devices, or for calibration (`findings.makers`), what asks for a flag that only context managers set where no block of
theirs is seen (`interpreter.modes`), and what only the first run does of what is declared, since somebody runs that
before (`findings.once`); an exception leaves a `try` from its beginning or its end; where tensors are made is unknown
in all that a block of `torch.device` may run, wherever else that is called. A call that cannot be resolved is counted,
always.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from graphlint.config import Config
from graphlint.discovery import discover
from graphlint.errors import UsageError
from graphlint.finding import Confidence, Region, Report, Summary
from graphlint.paths import normal
from graphlint.reading import reads
from graphlint.rulebook import Rulebook, builtin_rulebook
from graphlint.rulebook.detectors import Detectors
from graphlint.static.domain.contexts import Occurrence
from graphlint.static.findings.collect import Reached, collect_findings, gather
from graphlint.static.findings.off import is_off
from graphlint.static.findings.select import settle_findings
from graphlint.static.findings.trials import is_tried, trials
from graphlint.static.index.memory import Memory, run_parts
from graphlint.static.index.parallel import begin, can_fork
from graphlint.static.index.project import Problems, Project
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.rehearsal import Rehearsal, Told
from graphlint.static.life.witness import Witness
from graphlint.static.regions.assumed import assume
from graphlint.static.regions.declarations import check_names, declare
from graphlint.static.regions.elsewhere import keep_checked
from graphlint.static.regions.holes import tell_holes
from graphlint.static.regions.likely import run_likely
from graphlint.static.regions.search import Search
from graphlint.static.regions.survey import Survey, look_around
from graphlint.static.regions.targets import Targets, capturing, rows_for
from graphlint.static.regions.unjudged import tell_unjudged
from graphlint.static.syntax.remembered import forget, forget_run
from graphlint.targets import Target

_FEW_FILES, _FEW_REGIONS = 10, 4  # less than these take less than the copy of a process does
_RECURSION_LIMIT = 20_000  # calls that are followed nest as deep as those of the program


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Spare the search for reference cycles: trees have none, values stay to the end, and it takes a third of a run."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # what has been made so far is old now, and not looked through at once
        if was_enabled:
            gc.enable()


@_without_collector()
def check(
    paths: Sequence[Path],
    config: Config,
    rulebook: Rulebook,
    progress: Callable[[int, int], None] | None = None,
    memory: Memory | None = None,
) -> Report:
    """Look at the code that capture regions in these paths can reach. Raises UsageError.

    A memory is that of one project and its options, which a process checks again and again.
    """
    started = time.perf_counter()
    forget_run() if memory else forget()
    files = discover(paths, config.exclude, config.root)
    interpreter = _interpreter(files, rulebook, rulebook.detectors, memory)
    project = interpreter.project
    project.trials = trials(files, map(normal, paths), config.root, rulebook.lexicon)
    _follow(project, config.follow_installed)
    config, elsewhere = keep_checked(config, project)
    assume(interpreter, config.assume)
    check_names(interpreter, config.regions, files)
    for path in paths:
        if reads.is_file(path):
            project.module_at(normal(path)).check_syntax()  # whoever names a file is told if it is broken
    reached, problems = _reach(interpreter, config, files, progress, memory)
    found = collect_findings(reached, rulebook)
    findings, suppressed = settle_findings(found, reached.paths, problems, project, config, rulebook)
    summary = Summary(
        files=len(files),
        regions=len(reached.regions),
        functions=len(reached.functions),
        unresolved_calls=len(reached.unresolved),
        suppressed=suppressed,
        seconds=time.perf_counter() - started,
    )
    statistics = tuple(Counter(reached.unresolved.values()).most_common())
    notices = (*elsewhere, *tell_unjudged(interpreter, files, reached, problems))
    return Report("static", findings, summary, statistics, holes=tuple(reached.holes.values()), notices=notices)


def _follow(project: Project, packages: Iterable[str]) -> None:
    """Let calls lead into installed packages. Raises UsageError for one that is not there."""
    for package in packages:
        try:
            project.add_installed(package)
        except LookupError:
            raise UsageError(
                f"follow-installed: no package `{package}` is installed, and no folder has that path"
            ) from None


def _reach(
    interpreter: Interpreter,
    config: Config,
    files: list[Path],
    progress: Callable[[int, int], None] | None,
    memory: Memory | None,
) -> tuple[Reached, Problems]:
    """What the regions reach that are declared, marked, or opened by the code, and which files are broken."""
    # The search for the regions that the code opens costs as much as a declared region, and shares little with it.
    half = (len(config.regions) + 1) // 2
    known = interpreter.entries.targets
    works = [partial(_declared, interpreter, config, files, config.regions[:half], known)] if half else []
    works.append(partial(_opened, interpreter, config, files, config.regions[half:], progress))
    is_small = len(files) < _FEW_FILES and len(config.regions) < _FEW_REGIONS and not config.follow_installed
    parts = run_parts(works, memory, at_once=not is_small)
    reached, problems = Reached(), Problems()
    for part in parts:
        reached.merge(part.reached)
        problems |= part.problems
    for part in parts:
        reached.doubt(part.witness.refutes)
        reached.trust(part.witness.confirms)
    for part in parts:
        for occurrence, function, region in part.around:
            is_low = is_tried(region, (), occurrence.span.path, interpreter.project.trials)
            is_low = is_low or is_off(region, interpreter.project)
            reached.around(replace(occurrence, confidence=Confidence.LOW) if is_low else occurrence, function, region)
    return reached, problems


class _Part(NamedTuple):
    """What a part of a run has found: plain data, which may come from another process, or from an earlier run."""

    reached: Reached
    problems: Problems
    around: tuple[tuple[Occurrence, str, Region], ...] = ()
    witness: Witness = Witness()


def _declared(
    interpreter: Interpreter, config: Config, files: list[Path], patterns: Sequence[str], known: Sequence[Target]
) -> _Part:
    """What regions reach that are declared, and those that are known by now."""
    declare(interpreter, patterns, files)
    targets = Targets(interpreter, files, config.targets, known)
    found = _followed(interpreter, targets, guesses=not config.targets)
    found.reached.holes |= tell_holes(interpreter, files, targets.left)
    return found


def _opened(
    interpreter: Interpreter,
    config: Config,
    files: list[Path],
    patterns: Sequence[str],
    progress: Callable[[int, int], None] | None,
) -> _Part:
    """What regions reach that the code opens, or marks, and what is said around them; those of some patterns as well.

    What a known engine runs in the regions that it opens costs as much as all others, so these are searched for first.
    Rehearsals ask for where the regions begin, and not for what they reach: both are worked out at the same time.
    """
    search = Search(interpreter, files, progress)
    search.first(capturing(interpreter, search.candidates))
    met = [] if config.targets else rows_for(interpreter)
    other = _apart(interpreter, config, files, met) if met else None
    search.lexical()
    search.marked()
    places = set(interpreter.places_of_regions)
    known = [row for row in interpreter.entries.targets if row not in met]
    rehearsal = Rehearsal(interpreter, interpreter.detectors)
    rehearsed = rehearsal.begin(places, files)
    reached, problems, inside, _ = _declared(interpreter, config, files, patterns, known)
    around = rehearsed()  # before what others do is waited for
    if other is not None:
        also = other()
        reached.merge(also.reached)
        problems |= also.problems
        inside = (*inside, *also.around)
    return _Part(reached, problems, (*inside, *_told(around)), rehearsal.witness)


def _apart(interpreter: Interpreter, config: Config, files: list[Path], known: Sequence[Target]) -> Callable[[], _Part]:
    """What targets reach that are known at first, from a process of its own, or by an interpreter that has come as far.

    So it does not depend on whether there is a second processor.
    """
    if not can_fork():
        tables = interpreter.catalogue, interpreter.lexicon, interpreter.entries, interpreter.detectors
        interpreter = Interpreter(interpreter.project, *tables)
        assume(interpreter, config.assume)
        search = Search(interpreter, files)
        search.first(capturing(interpreter, search.candidates))
    return begin(partial(_followed, interpreter, Targets(interpreter, files, (), known)))


def _told(found: Iterable[Told]) -> tuple[tuple[Occurrence, str, Region], ...]:
    return tuple((one.occurrence, one.function, one.region) for one in found)


def _followed(interpreter: Interpreter, targets: Targets, guesses: bool = False) -> _Part:
    """What the regions reach that are known by now, and what is run in them, or may be by all that the code tells."""
    targets.run()
    if guesses:
        run_likely(targets)
    opened = interpreter.regions.values()
    for path in {Path(one.region.path) for one in opened}:
        interpreter.project.module_at(path).check_syntax()  # told there, even if nothing leads to what is broken
    interpreter.settle()
    reached = gather(opened, interpreter)
    reached.followed = {span for span, one in targets.followed.items() if not one.is_guess}
    reached.holes = {span: one.told() for span, one in targets.followed.items() if one.left_out or one.is_guess}
    streams = Rehearsal(interpreter, interpreter.detectors).run_declared()
    return _Part(reached, interpreter.project.problems(), _told(streams))


@_without_collector()
def survey(paths: Sequence[Path], config: Config) -> Survey:
    """What is captured in these paths, and what may be, by the names that hold once the folder is a project's.

    Raises UsageError.
    """
    files = discover(paths, config.exclude, config.root)
    interpreter = _interpreter(files, builtin_rulebook(), {}, folder=normal(config.root))
    search = Search(interpreter, files)
    search.lexical()
    search.marked()
    search.compiled()
    return look_around(interpreter, files)


def _interpreter(
    files: Sequence[Path],
    rulebook: Rulebook,
    detectors: Detectors,
    memory: Memory | None = None,
    folder: Path | None = None,
) -> Interpreter:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    project = Project(files, None if memory is None else memory.modules, folder)
    entries = rulebook.entries.seen_from(lambda package: project.module(package) is not None)
    return Interpreter(project, rulebook.catalogue, rulebook.lexicon, entries, detectors)
