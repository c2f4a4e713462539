"""Look at odd input for as long as is said; status 1 if something is wrong with what came of it.

    python -m tests.fuzz [--seconds 3600] [--seed 0] [--only programs|settings|bytes]

Every example that goes wrong is made as small as it can be, and shown. What ends the process itself is found in the
folder that is named at the start. Memory beyond one GiB is not given.
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import tempfile
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.examples import KINDS, Example, look_at

EXAMPLES = 100  # that are made of one seed
MEMORY = 1 << 30


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=0, help="the first of the seeds, which are tried one by one")
    parser.add_argument("--only", choices=KINDS)
    arguments = parser.parse_args()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    print(f"examples are in {folder}", flush=True)
    ends, number, wrong, looked_at = time.monotonic() + arguments.seconds, arguments.seed, 0, 0
    while time.monotonic() < ends:
        for kind in [arguments.only] if arguments.only else KINDS:
            count, is_right = one_round(kind, number, folder, ends)
            looked_at, wrong = looked_at + count, wrong + (not is_right)
        number += 1
    print(f"{looked_at} examples of {number - arguments.seed} seeds, {wrong} rounds went wrong")
    return 1 if wrong else 0


def one_round(kind: str, number: int, folder: Path, ends: float) -> tuple[int, bool]:
    """How many examples of a seed were looked at, and whether all was well."""
    looked_at = 0

    @seed(number)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), print_blob=False,
    )  # fmt: skip
    @given(KINDS[kind])
    def examine(example: Example) -> None:
        nonlocal looked_at
        if time.monotonic() < ends:
            looked_at += 1
            look_at(example, folder)

    try:
        examine()
    except Exception:
        print(f"{kind}, seed {number}:", flush=True)
        traceback.print_exc(limit=-1, file=sys.stdout)
        return looked_at, False
    return looked_at, True


sys.exit(main())
