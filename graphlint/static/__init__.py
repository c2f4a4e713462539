"""The static half: sources in, findings out. Nothing here imports torch, and nothing that is looked at is run."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from graphlint.config import Config
from graphlint.detectors import Detectors, load_detectors
from graphlint.entries import load_entries
from graphlint.errors import UsageError
from graphlint.finding import Report, Summary
from graphlint.lexicon import load_lexicon
from graphlint.operations import load_catalogue
from graphlint.paths import normal
from graphlint.rulebook import Rulebook, builtin_rules
from graphlint.static.findings.collect import Reached, collect_findings, gather
from graphlint.static.findings.select import settle_findings
from graphlint.static.index.parallel import begin
from graphlint.static.index.project import Problems, Project
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.declarations import declare
from graphlint.static.regions.search import Search
from graphlint.static.regions.survey import Survey, look_around
from graphlint.static.syntax.paths import discover

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
) -> Report:
    """Look at the code that capture regions in these paths can reach. Raises UsageError."""
    started = time.perf_counter()
    files = discover(paths, config.exclude, config.root)
    interpreter = _interpreter(files, load_detectors(rulebook.rules))
    project = interpreter.project
    for package in config.follow_installed:
        try:
            project.add_installed(package)
        except LookupError:
            raise UsageError(
                f"follow-installed: no package `{package}` is installed, and no folder has that path"
            ) from None
    for path in paths:
        if path.is_file():
            project.module_at(normal(path)).check_syntax()  # whoever names a file is told if it is broken

    def declared(patterns: Sequence[str]) -> tuple[Reached, Problems]:
        declare(interpreter, patterns, files)
        opened = interpreter.regions.values()
        for path in {Path(one.region.path) for one in opened}:
            project.module_at(path).check_syntax()  # a broken function is told there, even if nothing leads to it
        return gather(opened), project.problems()

    # The search for the regions that the code opens costs as much as a declared region, and shares little with it.
    half = (len(config.regions) + 1) // 2
    other_half = begin(partial(declared, config.regions[:half])) if half else None
    search = Search(interpreter, files, progress)
    search.lexical()
    search.marked()
    reached, problems = declared(config.regions[half:])
    if other_half is not None:
        also_reached, also_problems = other_half()
        reached.merge(also_reached)
        problems |= also_problems
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
    return Report("static", findings, summary, tuple(Counter(reached.unresolved.values()).most_common()))


@_without_collector()
def survey(paths: Sequence[Path], config: Config) -> Survey:
    """What is captured in these paths, and what may be. Raises UsageError."""
    files = discover(paths, config.exclude, config.root)
    interpreter = _interpreter(files, {})
    search = Search(interpreter, files)
    search.lexical()
    search.marked()
    return look_around(interpreter, files)


def _interpreter(files: Sequence[Path], detectors: Detectors) -> Interpreter:
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    return Interpreter(
        Project(files),
        load_catalogue(builtin_rules() / "operations.toml"),
        load_lexicon(builtin_rules() / "lexicon.toml"),
        load_entries(builtin_rules() / "regions.toml"),
        detectors,
    )
