"""Every program that needs nothing else of a device, on the emulator: it finds what the comments say."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

from proof.programs import ROOT, all_programs
from proof.verdicts import misjudgement

PROGRAMS = {program.name: program for program in all_programs() if program.outcome is not None}
LEAST_SHARE = 0.85


def test_most_programs_are_decided_and_all_of_these_as_their_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    """Exact line, exact code, both directions; a process for each."""
    done = subprocess.run(
        [sys.executable, "-m", "proof.emulated"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"tests{os.pathsep}."},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    records = json.loads(done.stdout)
    wrong = {name: how for name, record in records.items() if (how := misjudgement(PROGRAMS[name], record))}
    share = (len(records) - len(wrong)) / len(PROGRAMS)
    with capsys.disabled():
        print(f"\nthe emulator decides {len(records) - len(wrong)} of {len(PROGRAMS)} programs, {share:.1%}")
    assert {} == wrong
    assert share >= LEAST_SHARE
