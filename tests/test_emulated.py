"""Every program that needs nothing else of a device, on the emulator: it finds what the comments say."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import pytest

pytest.importorskip("torch")

from proof.processes import start_server
from proof.programs import Program, all_programs, awaiting
from proof.verdicts import misjudgement, verdict

PROGRAMS = [p for p in all_programs() if p.outcome is not None and p.name not in awaiting()]
EMULATED = [p for p in PROGRAMS if not p.needs]
LEAST_SHARE = 0.85


@pytest.fixture(scope="module", autouse=True)
def processes() -> None:
    """Those of targets come out of one that has loaded what they need."""
    start_server()


def is_about_this(program: Program) -> bool:
    """Whether the comments of a program are about the torch that is here."""
    return program.is_about(version("torch"))


@pytest.mark.parametrize("program", EMULATED, ids=str)
def test_a_program_is_decided_as_its_comments_say(program: Program) -> None:
    """Exact line, exact code, both directions; one that is about other releases of torch has to be seen to be."""
    wrong = misjudgement(program, verdict(program, on="emulator"))
    if is_about_this(program):
        assert wrong is None
    else:
        assert wrong is not None, "this release does the same"


def test_most_programs_are_decided(tell: Callable[[str], None]) -> None:
    """What is left out, for what it needs or for its release, is the smaller part by far."""
    decided = sum(map(is_about_this, EMULATED))
    share = decided / len(PROGRAMS)
    tell(f"the emulator decides {decided} of {len(PROGRAMS)} programs, {share:.1%}")
    tell(f"left out, as they are about other releases of torch: {len(EMULATED) - decided}")
    assert share >= LEAST_SHARE
