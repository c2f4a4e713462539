"""What `graphlint verify` finds in each program on a real device is what its comments say; `pytest --prove` runs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from proof import evidence
from proof.evidence import VERDICTS, Evidence, recorded
from proof.programs import Program, all_programs, awaiting
from proof.proving import Proving, selected
from proof.verdicts import judging, misjudgement

PROGRAMS = [program for program in all_programs() if program.outcome is not None]
# Programs that have evidence of a GPU and no verdict; a recorded verdict takes a name off this list.
AWAITING = awaiting()


@pytest.fixture(scope="session")
def verifying(request: pytest.FixtureRequest) -> Iterator[Proving | None]:
    """The programs of the selected tests under `graphlint verify`; None without `--prove`."""
    yield from selected(request, judging)


@pytest.fixture(scope="module")
def devices() -> list[Evidence]:
    """What was found on every device."""
    return recorded(VERDICTS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Where no verdict was ever recorded, there is nothing to compare, and that is one skip."""
    if "program" in metafunc.fixturenames:
        known = metafunc.config.getoption("--prove") or recorded(VERDICTS)
        metafunc.parametrize("program", PROGRAMS if known else [], ids=str)


def test_what_waits_for_a_verdict_has_none(devices: list[Evidence]) -> None:
    """The list names programs of today, and holds nothing that was looked at since."""
    programs = {program.name: program for program in PROGRAMS}
    assert programs.keys() >= AWAITING
    assert [name for name in sorted(AWAITING) if any(device.of(programs[name]) for device in devices)] == []


def test_what_a_run_finds_is_what_the_comments_say(
    program: Program, verifying: Proving | None, devices: list[Evidence]
) -> None:
    """Exact line, exact code, both directions, but for what is marked as unseen."""
    if verifying is not None:
        if program.name not in verifying.running:
            pytest.skip("needs more GPUs, or another release of torch")
        records = [verifying.record(program)]
    else:
        records = [record for device in devices if (record := device.of(program)) is not None]
        if not records and program.name in AWAITING:
            pytest.skip("captured and replayed on a GPU, and not yet looked at by `verify` there")
        assert records, f"no verdict on the present text of {program}: run `pytest --prove` on a machine with a GPU"
    assert [said for record in records if (said := misjudgement(program, record))] == []


def test_what_is_unseen_is_there_to_be_seen() -> None:
    """The comment stands beside one that says what is wrong with the line."""
    astray = {str(one): set(one.marks("unseen")) - set(one.marks("expect", "missed")) for one in PROGRAMS}
    assert {} == {name: marks for name, marks in astray.items() if marks}


EXAMPLE = Program("example.py", (("example.py", "x = 1\n"),), "example.py", "capture-error")
HERE, BELOW = "example.py:1 GL101", "example.py:2 GL101"


@pytest.mark.parametrize(
    ("text", "found", "agrees"),
    [
        pytest.param("x.item()  # expect: GL101\n", [HERE], True, id="found where it is expected"),
        pytest.param("x.item()  # missed: GL101 why\n", [HERE], True, id="found where only a run can see it"),
        pytest.param("x.item()  # expect: GL101\n", [], False, id="not found"),
        pytest.param("x.item()  # expect: GL101\n", [BELOW], False, id="found at another line"),
        pytest.param("x.item()  # expect: GL101\n", [HERE, BELOW], False, id="found twice"),
        pytest.param("x.item()  # expect: GL101  # unseen: GL101 why\n", [], True, id="unseen"),
        pytest.param("x.item()  # expect: GL101  # unseen: GL101 why\n", [HERE], False, id="unseen, and found"),
        pytest.param("x.item()  # expect: GL101, GL104  # unseen: GL104 why\n", [HERE], True, id="one of two unseen"),
        pytest.param("x = 1  # false-alarm: GL101 why\n", [], True, id="a false alarm of the static half"),
        pytest.param("x = 1\n", [HERE], False, id="found where nothing is marked"),
        pytest.param("x = 1\n", [], True, id="clean"),
    ],
)
def test_program_and_verdict_are_compared(text: str, found: list[str], agrees: bool) -> None:
    """Whatever is found has to be marked, and whatever is marked has to be found."""
    program = replace(EXAMPLE, files=(("example.py", text),))
    assert agrees == (misjudgement(program, {"found": found}) is None)


def test_verdicts_lie_beside_the_evidence_and_apart_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of its own, which is not taken for what the program did."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    records = {EXAMPLE.name: {"hash": EXAMPLE.hash, "found": []}}
    device = Evidence({"gpu": "NVIDIA X", "torch": "2.11.0+cu130", "cuda": "13.0"}, records, VERDICTS)
    device.write([EXAMPLE])
    assert ["verify-nvidia-x-torch2.11.0-cuda13.0.json"] == [path.name for path in tmp_path.iterdir()]
    assert [records] == [one.records for one in recorded(VERDICTS)]
    assert [] == recorded()


def test_a_record_is_written_as_soon_as_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run has measured is not lost when it is cut off."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    monkeypatch.setattr("proof.proving.gpu_count", lambda: 1)
    device, program = Evidence({"gpu": "NVIDIA X", "torch": "2.11.0", "cuda": "13.0"}, kind=VERDICTS), PROGRAMS[0]
    proving = Proving(device, lambda program: {"found": [program.name]}, [program, replace(PROGRAMS[1], gpus=2)])
    proving.record(program)
    (read,) = recorded(VERDICTS)
    proving.finish()
    assert {program.name: {"hash": program.hash, "found": [program.name]}} == read.records
