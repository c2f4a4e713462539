"""What each program does on a real device is what its comments say; `pytest --prove` runs them there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from proof import evidence
from proof.device import present_device
from proof.evidence import Evidence, disagreement, recorded
from proof.programs import Program, all_programs
from proof.proving import Proving, prove, selected

from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.rulebook.page import TOOL_FAMILY

PROGRAMS = [program for program in all_programs() if program.outcome is not None]
RULES = [rule for rule in load_rulebook(builtin_rules()).rules if not rule.code.startswith(TOOL_FAMILY)]


@pytest.fixture(scope="session")
def proving(request: pytest.FixtureRequest) -> Iterator[Proving | None]:
    """The programs of the selected tests, running on the device of this machine; None without `--prove`."""
    yield from selected(request, lambda programs: Proving(Evidence(present_device()), prove, programs))


@pytest.fixture(scope="module")
def devices() -> list[Evidence]:
    """What every device recorded."""
    return recorded()


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_program_does_on_a_device_what_its_comments_say(
    program: Program, proving: Proving | None, devices: list[Evidence]
) -> None:
    """The outcome agrees, and what breaks a capture is a marked line."""
    if proving is not None:
        if program.name not in proving.running:
            pytest.skip("needs more GPUs, or another release of torch")
        records = [proving.record(program)]
    else:
        records = [record for device in devices if (record := device.of(program)) is not None]
        assert records, f"no evidence for the present text of {program}: run `pytest --prove` on a machine with a GPU"
    assert [said for record in records if (said := disagreement(program, record))] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_has_a_bad_and_a_clean_program(rule) -> None:
    """The fixtures of the rule's folder show what is reported and what is not; a page without both is not loaded."""
    folder = f"fixtures/{rule.page.stem}/"
    outcomes = {program.outcome for program in PROGRAMS if program.name.startswith(folder)}
    assert "clean" in outcomes and len(outcomes) > 1


EXAMPLE = Program("example.py", (("example.py", "x.item()  # expect: GL101\n"),), "example.py", "capture-error")
BROKE = {"outcome": "capture-error", "place": "example.py:1", "cause": "refused"}
CLEAN = {"outcome": "clean", "place": None, "cause": None}


@pytest.mark.parametrize(
    ("outcome", "text", "record", "agrees"),
    [
        pytest.param("capture-error", "x.item()  # expect: GL101\n", BROKE, True, id="broke at the marked line"),
        pytest.param("capture-error", "x.item()  # missed: GL101 why\n", BROKE, True, id="broke at a missed line"),
        pytest.param("capture-error", "\nx.item()  # expect: GL101\n", BROKE, False, id="broke at another line"),
        pytest.param("capture-error", "x.item()  # expect: GL101\n", CLEAN, False, id="did not break"),
        pytest.param("clean", "x = 1\n", CLEAN, True, id="clean"),
        pytest.param("clean", "x = 1\n", BROKE, False, id="broke where nothing is marked"),
        pytest.param("clean", "x = 1  # expect: GL101\n", CLEAN, False, id="marked, and clean"),
        pytest.param("clean", "x = 1  # false-alarm: GL101 why\n", CLEAN, True, id="a false alarm"),
        pytest.param("slow", "x = 1  # expect: GL504\n", CLEAN, True, id="slow"),
        pytest.param("replay-divergence", "x = 1\n", CLEAN, False, id="replay was right"),
    ],
)
def test_program_and_device_are_compared(outcome: str, text: str, record: dict[str, object], agrees: bool) -> None:
    """Outcome and line have to agree; what is known as missed counts as marked, a false alarm does not."""
    program = replace(EXAMPLE, outcome=outcome, files=(("example.py", text),))
    assert agrees == (disagreement(program, record) is None)


def test_evidence_belongs_to_the_text_that_ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is read back for the same text, and forgotten when the text or the program is gone."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    device = Evidence({"gpu": "NVIDIA X", "torch": "2.11.0+cu130", "cuda": "13.0"})
    device.records = {name: {"hash": EXAMPLE.hash, **BROKE} for name in (EXAMPLE.name, "gone.py")}
    device.write([EXAMPLE])
    assert "nvidia-x-torch2.11.0-cuda13.0.json" == device.path.name
    (read,) = recorded()
    assert {EXAMPLE.name: {"hash": EXAMPLE.hash, **BROKE}} == read.records
    assert read.of(EXAMPLE) is not None
    assert read.of(replace(EXAMPLE, files=(("example.py", "x.tolist()\n"),))) is None


MODELS = {path.stem.partition("-torch")[0]: path for path in sorted(evidence.FOLDER.glob("zoo-*.jsonl"))}
LEAST_EQUAL, LEAST_LINES = 0.97, 0.95


def test_the_emulator_says_of_real_models_what_a_gpu_says(tell: Callable[[str], None]) -> None:
    """The same verdict on every model, and of those that are refused the same lines."""
    emulator, gpu = (rows(MODELS[name]) for name in ("zoo-emulator", "zoo-nvidia-h200"))
    assert set(emulator) == set(gpu)
    equal = [name for name in emulator if emulator[name]["verdict"] == gpu[name]["verdict"]]
    refused = [name for name in equal if gpu[name]["verdict"] == "refused"]
    lines = [name for name in refused if errors(emulator[name]) == errors(gpu[name])]
    tell(f"equal verdicts: {len(equal)} of {len(emulator)} models; equal lines: {len(lines)} of {len(refused)}")
    assert len(equal) >= LEAST_EQUAL * len(emulator)
    assert len(lines) >= LEAST_LINES * len(refused)
    assert [] == [name for name in set(equal) - set(refused) if errors(emulator[name]) - errors(gpu[name])]


def rows(path: Path) -> dict[str, dict[str, Any]]:
    """What came of each model; the first line says what the run depends on."""
    _, *found = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["model"]: row for row in found}


def errors(row: dict[str, Any]) -> set[tuple[str, int, str]]:
    return {(one["path"], one["line"], one["code"]) for one in row["errors"]}
