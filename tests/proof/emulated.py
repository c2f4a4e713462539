"""The programs that need no real device in, what `graphlint verify --on emulator` finds in them out, as JSON.

PYTHONPATH=tests python -m proof.emulated [NAME]...
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import forkserver

from proof.programs import all_programs
from proof.verdicts import verdict

# What the programs import, loaded once, before the processes of the programs part; `assert_close` needs the second one.
LOADED = (
    "torch",
    "torch.distributed.tensor",
    "graphlint.runtime.session.isolation",
    "graphlint.runtime.device.emulator.backend",
)


def main() -> None:
    os.environ["OMP_NUM_THREADS"] = "1"  # of the process from which all others come
    forkserver.set_forkserver_preload(list(LOADED))
    forkserver.ensure_running()
    names = sys.argv[1:] or [""]
    asked = [
        program
        for program in all_programs()
        if program.outcome is not None and not program.needs and any(name in program.name for name in names)
    ]
    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        records = pool.map(partial(verdict, on="emulator"), asked)
        json.dump({program.name: record for program, record in zip(asked, records, strict=True)}, sys.stdout)


if __name__ == "__main__":
    main()
