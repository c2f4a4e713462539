"""What the static half says about every fixture and every page program is what their comments say."""

from __future__ import annotations

import pytest
from proof.programs import Program, all_programs
from proof.reports import RULEBOOK, expected, reported

from graphlint.rulebook import Rule
from graphlint.rulebook.page import TOOL_FAMILY

PROGRAMS = all_programs()


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program_is_reported_exactly_as_its_comments_say(program: Program) -> None:
    """Exact line, exact code, both directions."""
    assert expected(program) == reported(program)


@pytest.mark.parametrize("code", [rule.code for rule in RULEBOOK.rules if "check" in rule.witness])
def test_a_rule_that_is_switched_off_is_missed(code: str) -> None:
    """Some program asks for each rule, and for nothing that another rule reports in its place."""
    asking = next(program for program in PROGRAMS if code in {c for _, _, c in expected(program)})
    assert expected(asking) != reported(asking, ignore=(code,))


@pytest.mark.parametrize("rule", RULEBOOK.rules, ids=lambda rule: rule.code)
def test_a_page_names_the_commands_that_report_its_rule(rule: Rule) -> None:
    """Both directions, as the comments of the programs say; the tool's own rules have no programs that run."""
    found = set()
    for program in PROGRAMS:
        seen = set(program.marks("expect", "missed")) - set(program.marks("unseen"))
        if any(code == rule.code for _, _, code in program.marks("expect")):
            found.add("check")
        if program.outcome is not None and any(code == rule.code for _, _, code in seen):
            found.add("verify")
    if rule.code.startswith(TOOL_FAMILY) and "check" not in found:
        found.add("verify")  # a rule about the run of a target
    assert found == set(rule.witness)
