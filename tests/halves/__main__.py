"""Targets in, where the halves differ out: what a capture refuses beside what `check` reports, line by line.

    python -m tests.halves [TARGET...] [--on emulator|cuda] [--deadline S] [--json FILE]

TARGET is a factory as `graphlint verify` takes it, or a file, for each function that it defines whose name has no
underscore in front; without one, those are taken that lie beside this file, for which the packages of `packages.txt`
have to be there. Each is captured, run again to see which lines run, and its capture is looked at by `check` with the
packages that it reaches. FILE gets a record of each target.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from graphlint.runtime.session.session import CUDA, EMULATOR
from tests.halves.comparison import Compared, compare
from tests.halves.observed import begin, observe
from tests.halves.predicted import predict
from tests.halves.table import record, table
from tests.proof.device import gpu_count

TARGETS = Path(__file__).parent / "targets"


def look(name: str, on: str, deadline: float) -> Compared:
    """Both halves on one target."""
    observed = observe(name, on, deadline)
    if observed.problem:
        return Compared(name, observed.problem)
    predicted = predict(name, observed.ran.packages(), deadline)
    if predicted.problem:
        return Compared(name, predicted.problem)
    return compare(name, observed, predicted.findings)


def factories(given: str) -> Iterator[str]:
    """The targets that are meant by an argument."""
    if not given.endswith(".py"):
        yield given
        return
    for node in statements(given):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{given}:{node.name}"


def imported(given: str) -> Iterator[str]:
    """The modules that the file of a target imports, each of which takes longer than the target."""
    for node in statements(given.rpartition(":")[0] or given):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def statements(file: str) -> list[ast.stmt]:
    return ast.parse(Path(file).read_text("utf-8")).body if file.endswith(".py") else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--on", choices=[EMULATOR, CUDA], default=EMULATOR, help="where to capture")
    parser.add_argument("--deadline", type=float, default=120, metavar="S", help="the seconds that each target has")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.on == CUDA and not gpu_count():
        sys.exit("this needs a GPU that torch can use, or --on emulator")
    given = arguments.targets or [str(file.relative_to(Path.cwd())) for file in sorted(TARGETS.glob("*.py"))]
    begin(dict.fromkeys(module for one in given for module in imported(one)))
    folders = [Path.cwd(), *(Path(entry).resolve() for entry in sys.path)]
    compared = []
    for name in (name for one in given for name in factories(one)):
        compared.append(look(name, arguments.on, arguments.deadline))
        print(name, compared[-1].problem, file=sys.stderr, flush=True)
        if arguments.json:
            lines = ",\n".join(json.dumps(record(one, folders)) for one in compared)
            arguments.json.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(table(compared, folders))


if __name__ == "__main__":
    main()
