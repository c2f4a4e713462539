"""Every program that needs nothing else of a device, on the emulator: it finds what the comments say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version

import pytest

pytest.importorskip("torch")

from proof.programs import ROOT, all_programs, awaiting
from proof.verdicts import misjudgement

PROGRAMS = {p.name: p for p in all_programs() if p.outcome is not None and p.name not in awaiting()}
LEAST_SHARE = 0.85


def test_most_programs_are_decided_and_all_of_these_as_their_comments_say(tell: Callable[[str], None]) -> None:
    """Exact line, exact code, both directions; a process for each.

    One that is about other releases of torch is left out, and says so in vain if it has its way with this one.
    """
    done = subprocess.run(
        [sys.executable, "-m", "proof.emulated"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"tests{os.pathsep}."},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    records = {name: record for name, record in json.loads(done.stdout).items() if name in PROGRAMS}
    wrong = {name: how for name, record in records.items() if (how := misjudgement(PROGRAMS[name], record))}
    left_out = {name for name in records if not PROGRAMS[name].is_about(version("torch"))}
    decided = len(records.keys() - left_out - wrong.keys())
    share = decided / len(PROGRAMS)
    tell(f"the emulator decides {decided} of {len(PROGRAMS)} programs, {share:.1%}")
    tell(f"left out, as they are about other releases of torch: {len(left_out)}")
    assert {} == {name: how for name, how in wrong.items() if name not in left_out}
    assert set() == left_out - wrong.keys()
    assert share >= LEAST_SHARE
