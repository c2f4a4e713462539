"""The listed statements in, what the emulator does with them, and where a device was measured to do otherwise, out."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sweep.measure import Record, Sweep
from sweep.predictions import samples

WORKER = (sys.executable, "-m", "tests.sweep.worker", "emulator")
SAMPLE_SECONDS = 120.0  # on a machine that has other things to do as well
BUDGET = 3600.0
_MISSING = "ModuleNotFoundError"  # what a statement raises of which a package is not installed here


@functools.cache
def emulated() -> dict[str, Record]:
    """What the emulator did with each statement; those of packages that are not here are left out."""
    with tempfile.TemporaryDirectory() as folder:
        sweep = Sweep(Path(folder, "emulated.jsonl.gz"), WORKER, SAMPLE_SECONDS)
        sweep.run(workers=1, only="", budget=BUDGET, samples=0)  # other tests run beside it
    ran = [record for record in sweep.records.values() if not str(record.get("eager_error")).startswith(_MISSING)]
    return {str(record["statement"]): record for record in ran}


def measured() -> dict[str, Record]:
    """What a device did with each statement that ran there."""
    return {record["statement"]: record for record in samples() if record["form"] == "statement"}


def differences() -> Iterator[tuple[str, str]]:
    """Each statement that ran on a device, and what the emulator made of it that the device did not."""
    here = emulated()
    for statement, expected in measured().items():
        if statement in here:
            kind = difference(here[statement], expected)
            if kind:
                yield kind, statement


def difference(found: Record, expected: Record) -> str:
    """In what two records of a statement differ; empty if they agree."""
    if "captures" not in found:
        return "fails"
    if found["captures"] != expected["captures"]:
        return "captures" if found["captures"] else "refuses"
    if not found["captures"]:
        return ""
    if bool(found["nodes"]) != bool(expected["nodes"]):
        return "nodes"
    replays = {found["replay"], expected["replay"]}
    return "replay" if len(replays) > 1 and None not in replays else ""
