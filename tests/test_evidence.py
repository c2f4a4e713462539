"""What each program does on a real device is what its comments say; `pytest --prove` runs them there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from proof.evidence import disagreement, recorded
from proof.programs import Program, all_programs
from proof.proving import Proving, present_device

from graphlint.page import TOOL_FAMILY
from graphlint.rulebook import builtin_rules, load_rulebook

PROGRAMS = [program for program in all_programs() if program.outcome is not None]
RULES = [rule for rule in load_rulebook(builtin_rules()).rules if not rule.code.startswith(TOOL_FAMILY)]


@pytest.fixture(scope="session")
def proving(request: pytest.FixtureRequest) -> Iterator[Proving | None]:
    """The programs of the selected tests, running on the device of this machine; None without `--prove`."""
    if not request.config.getoption("--prove"):
        yield None
        return
    device = present_device()
    if device is None:
        pytest.exit("--prove needs a GPU that torch can use; without it, `pytest` checks the recorded evidence", 4)
    chosen = [item.callspec.params["program"] for item in request.session.items if hasattr(item, "callspec")]
    running = Proving(device, chosen)
    yield running
    running.finish(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program_does_on_a_device_what_its_comments_say(program: Program, proving: Proving | None) -> None:
    """The outcome agrees, and what breaks a capture is a marked line."""
    if proving is not None:
        records = [proving.record(program)]
    else:
        records = [record for device in recorded() if (record := device.of(program)) is not None]
        assert records, f"no evidence for the present text of {program}: run `pytest --prove` on a machine with a GPU"
    assert [said for record in records if (said := disagreement(program, record))] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_has_a_bad_and_a_clean_program(rule) -> None:
    """Both a fixture of the rule's folder and a program of its page show what is reported and what is not."""
    folder = f"fixtures/{rule.page.stem}/"
    outcomes = {program.outcome for program in PROGRAMS if program.name.startswith(folder)}
    assert "clean" in outcomes and len(outcomes) > 1
