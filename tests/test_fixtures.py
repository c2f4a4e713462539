"""What the static half says about every fixture and every page program is what their comments say."""

from __future__ import annotations

import pytest
from proof.programs import Program, all_programs
from proof.reports import RULEBOOK, expected, reported

PROGRAMS = all_programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program_is_reported_exactly_as_its_comments_say(program: Program) -> None:
    """Exact line, exact code, both directions."""
    assert expected(program) == reported(program)


@pytest.mark.parametrize("code", [rule.code for rule in RULEBOOK.rules if rule.witness is None])
def test_a_rule_that_is_switched_off_is_missed(code: str) -> None:
    """Some program asks for each rule, and for nothing that another rule reports in its place."""
    asking = next(program for program in PROGRAMS if code in {c for _, _, c in expected(program)})
    assert expected(asking) != reported(asking, ignore=(code,))
