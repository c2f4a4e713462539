"""What a check costs: recorded models and their sources in, a table of seconds and memory out; a tool, run by hand.

    python -m tests.benchmarks.cost RECORDS SOURCES... [--entry MODULE:QUALNAME]... [--without FOLDER]

RECORDS holds `models.jsonl` as `tests/zoo.py` reads it, SOURCES are the packages' folders. The cases are each `--entry`
alone (left out: the first that is recorded), all recorded entries together, and a tree without a region (left out: the
standard library). Each runs cold, in a process of its own. Printed are the seconds of the check, the processor seconds
with start-up, the peak of memory (of two processes, where there are two), the lines of the files that regions reach,
and the ratio of the processor seconds to those that `libcst.parse_module` takes for the same files, or, where nothing
is reached, that reading all files takes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sysconfig
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import libcst

from graphlint import static
from graphlint.config import Config
from graphlint.discovery import discover
from graphlint.rulebook import Rulebook, builtin_rules, load_rulebook
from graphlint.static.findings.collect import Reached, collect_findings
from tests.zoo import read_records


@dataclass(frozen=True)
class Case:
    name: str
    sources: tuple[Path, ...]
    regions: tuple[str, ...]


def measure(case: Case) -> str:
    """The row of one case, measured in this process."""
    paths: set[str] = set()

    def collect(reached: Reached, rulebook: Rulebook) -> object:
        paths.update(reached.paths)
        return collect_findings(reached, rulebook)

    with mock.patch.object(static, "collect_findings", collect):
        config = Config(root=Path.cwd(), regions=case.regions)
        elapsed = static.check(case.sources, config, load_rulebook(builtin_rules())).summary.seconds
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(one.ru_utime + one.ru_stime for one in used)
    peak = sum(one.ru_maxrss for one in used) / 1024
    texts = [Path(path).read_bytes() for path in sorted(paths)]
    if texts:
        yardstick, unit = clock(libcst.parse_module, texts), "libcst.parse_module"
    else:
        yardstick, unit = clock(Path.read_bytes, discover(case.sources, (), Path.cwd())), "reading"
    lines = sum(text.count(b"\n") for text in texts)
    cost = f"{elapsed:6.1f} s {seconds:6.1f} s processor {peak:6.0f} MiB {lines:8} lines"
    return f"{cost}  {seconds / yardstick:6.1f} x {unit}  {case.name}"


def clock(work: Callable[..., object], items: Iterable[object]) -> float:
    """The processor seconds that a piece of work takes for all items."""
    started = time.process_time()
    for item in items:
        work(item)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--entry", action="append", help="an entry to measure alone")
    parser.add_argument(
        "--without", type=Path, default=Path(sysconfig.get_path("stdlib")), help="a tree without a region"
    )
    arguments = parser.parse_args()
    entries = tuple(dict.fromkeys(str(m["entry"]) for m in read_records(arguments.records / "models.jsonl")))
    sources = tuple(arguments.sources)
    cases = [Case(entry, sources, (entry,)) for entry in arguments.entry or entries[:1]]
    cases += [Case(f"{len(entries)} entries", sources, entries), Case(str(arguments.without), (arguments.without,), ())]
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawning, max_tasks_per_child=1) as pool:
        for row in pool.map(measure, cases):
            print(row, flush=True)


if __name__ == "__main__":
    main()
