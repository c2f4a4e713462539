"""What `check` says of longer programs that no GPU has run yet, so that they are no fixtures, is what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof.programs import Program, programs_in
from proof.reports import expected, reported

PROGRAMS = list(programs_in(Path(__file__).parent / "programs"))


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_longer_program_is_reported_as_its_comments_say(program: Program) -> None:
    """Exact line, exact code; the corrected version of each is silent."""
    assert expected(program) == reported(program)
    assert bool(expected(program)) is not program.name.endswith("_clean.py")


def test_there_is_a_program_of_each_kind_with_a_corrected_version() -> None:
    """Two files a kind."""
    names = {Path(program.name).stem for program in PROGRAMS}
    assert names == {kind + end for kind in {one.removesuffix("_clean") for one in names} for end in ("", "_clean")}
