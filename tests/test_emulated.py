"""Every program that needs nothing else of a device, on the emulator: it finds what the comments say."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

pytest.importorskip("torch")

from proof.programs import all_programs
from proof.verdicts import misjudgement, verdict

PROGRAMS = [program for program in all_programs() if program.outcome is not None]
LEAST_SHARE = 0.85
MOST_WRONG = 50  # on a GPU, nearly the same ones are judged wrong, by the half of the work that both share


def test_most_programs_are_decided_as_their_comments_say(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact line, exact code, both directions; a process for each."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # of the process from which all others come
    asked = [program for program in PROGRAMS if not program.needs]
    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        records = list(pool.map(partial(verdict, on="emulator"), asked))
    said = {str(one): misjudgement(one, record) for one, record in zip(asked, records, strict=True)}
    wrong = {name: how for name, how in said.items() if how}
    share = (len(asked) - len(wrong)) / len(PROGRAMS)
    with capsys.disabled():
        print(f"\nthe emulator decides {len(asked) - len(wrong)} of {len(PROGRAMS)} programs, {share:.1%}")
    assert share >= LEAST_SHARE
    assert len(wrong) <= MOST_WRONG, wrong
