"""A program in, what `graphlint verify` finds in it on this machine's GPU out, and how that differs from its comments.

    PYTHONPATH=tests python -m proof.verdicts [--verbose] [NAME]...

This looks at the programs whose name holds one of the texts, or at all, and records what `pytest --prove` does.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from proof.device import present_device
from proof.evidence import VERDICTS, Evidence
from proof.programs import Program, all_programs
from proof.proving import Proving, Record

from graphlint.config import Config
from graphlint.finding import Finding
from graphlint.rulebook import builtin_rules, load_rulebook

DEADLINE = 180.0  # seconds for one program; one that compiles takes a minute on a cold machine
RULEBOOK = load_rulebook(builtin_rules())


def verdict(program: Program, told: Callable[[Finding], object] = lambda _: None, on: str = "cuda") -> Record:
    """What is found in one program on a GPU or on the emulator; `told` hears of each finding."""
    from graphlint import runtime

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        entry = program.write(folder)
        config = Config(root=folder, select=program.rules, allocations="strict" if program.rules else "default")
        report = runtime.verify([str(entry)], config, RULEBOOK, on=on, deadline=DEADLINE)
    for finding in report.findings:
        told(finding)
    spans = [(Path(one.span.path), one.span.line, one.code) for one in report.findings]
    places = [(path.relative_to(folder) if path.is_relative_to(folder) else path, *rest) for path, *rest in spans]
    return {"found": [f"{path.as_posix()}:{line} {code}" for path, line, code in sorted(places)]}


def judging(programs: Iterable[Program], look: Callable[[Program], Record] = verdict) -> Proving:
    """The programs under `graphlint verify`, several at a time."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of the process from which all others come
    return Proving(Evidence(present_device(), kind=VERDICTS), look, programs)


def wanted(program: Program) -> list[str]:
    """What a run can see of what the program's comments speak of, as `file:line CODE`."""
    unseen = set(program.marks("unseen"))
    seen = [mark for mark in program.marks("expect", "missed") if mark not in unseen]
    return [f"{path}:{line} {code}" for path, line, code in seen]


def misjudgement(program: Program, record: Record) -> str | None:
    """How what was found differs from what the program's comments say; None if it does not."""
    expected, found = wanted(program), record["found"]
    if not expected and program.marks("unseen"):  # then the program's own check fails, and nothing explains it
        found = [one for one in found if not one.endswith(" GL003")]
    if sorted(expected) == sorted(found):
        return None
    missing, besides = [one for one in expected if one not in found], [one for one in found if one not in expected]
    return f"not found: {', '.join(missing) or 'nothing'}; found besides: {', '.join(besides) or 'nothing'}"


def show(program: Program, finding: Finding) -> None:
    place = f"{Path(finding.span.path).name}:{finding.span.line}"
    print(f"{program}: {place} {finding.code} {finding.message} ({finding.why})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--verbose", action="store_true", help="print each finding")
    arguments = parser.parse_args()
    asked = [
        program
        for program in all_programs()
        if program.outcome is not None and any(name in program.name for name in arguments.names or [""])
    ]
    look = (lambda program: verdict(program, partial(show, program))) if arguments.verbose else verdict
    running = judging(asked, look)
    programs = [program for program in asked if program.name in running.running]
    differing = 0
    for program in programs:
        said = misjudgement(program, running.record(program))
        if said is not None:
            differing += 1
            print(f"{program}: {said}", flush=True)
    running.finish()
    print(f"{len(programs) - differing} of {len(programs)} programs as their comments say, in {running.evidence.path}")


if __name__ == "__main__":
    main()
