"""The programs that need no real device in, what `graphlint verify --on emulator` finds in them out, as JSON.

PYTHONPATH=tests python -m proof.emulated [NAME]...
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from proof.processes import start_server
from proof.programs import all_programs
from proof.verdicts import verdict


def main() -> None:
    start_server()
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
