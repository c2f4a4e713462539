"""Look at odd input for as long as is said; status 1 if something is wrong with what came of it.

    python -m tests.fuzz [--seconds 3600] [--seed 0] [--only programs|settings|bytes]

Every example that goes wrong is made as small as it can be, and shown. What ends the process itself is found in the
folder that is named at the start. Memory beyond one GiB is not given.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import resource
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
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
    ends, number, wrong = time.monotonic() + arguments.seconds, arguments.seed, 0
    while time.monotonic() < ends:
        for kind in [arguments.only] if arguments.only else KINDS:
            status = apart(partial(one_round, kind, number, folder, ends))
            if status:
                wrong += 1
                print(f"{kind}, seed {number}: ended with {status}", flush=True)
        number += 1
    print(f"{number - arguments.seed} seeds of {EXAMPLES} examples each, {wrong} rounds went wrong")
    return 1 if wrong else 0


def apart(work: Callable[[], bool]) -> int:
    """The status of work in a process of its own, which nothing of the others weighs on; 0 if all was well."""
    process = os.fork()
    if not process:
        is_right = False
        try:
            is_right = work()
        finally:
            sys.stdout.flush()
            os._exit(0 if is_right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def one_round(kind: str, number: int, folder: Path, ends: float) -> bool:
    """Whether all was well with the examples of a seed."""

    @seed(number)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), print_blob=False,
    )  # fmt: skip
    @given(KINDS[kind])
    def examine(example: Example) -> None:
        if time.monotonic() < ends:
            look_at(example, folder)
            gc.collect()  # of what a process leaves behind when it ends

    try:
        examine()
    except Exception:
        traceback.print_exc(limit=-1, file=sys.stdout)
        return False
    return True


sys.exit(main())
