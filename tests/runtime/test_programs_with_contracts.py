"""Programs of the kinds that people capture, and the contracts that were read line by line beside them.

`contracts/contracts.json` is what `graphlint verify --contract` has written of the programs beside it. Where there is a
GPU, `pytest tests/runtime/test_programs_with_contracts.py -k device` compares what that says.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.rulebook import builtin_rulebook  # noqa: E402
from graphlint.runtime.device.emulator import library  # noqa: E402
from graphlint.runtime.judge.workspaces import ARE_KEPT  # noqa: E402

FOLDER = Path(__file__).with_name("contracts")
WRITTEN = FOLDER / "contracts.json"
PROGRAMS = sorted(FOLDER.glob("*.py"))
MODELLED = [path for path in PROGRAMS if "compiled" not in path.stem or library.COMPILES]


def compare(path: Path, on: str) -> None:
    """A run agrees with what is written down of a program, and finds nothing else."""
    report = runtime.verify([str(path)], load_config(FOLDER, None), builtin_rulebook(), on=on, contract=WRITTEN)
    told = [(one.code, one.message, one.why) for one in report.findings if ARE_KEPT or "`cuBLAS" not in one.message]
    assert ([], ()) == (told, report.notices)


@pytest.mark.parametrize("path", MODELLED, ids=lambda path: path.stem)
def test_a_program_keeps_its_contract(path: Path) -> None:
    """With nothing missing, and nothing that is not there."""
    compare(path, "emulator")


@pytest.mark.parametrize("path", PROGRAMS if torch.cuda.is_available() else [], ids=lambda path: path.stem)
def test_a_device_gives_the_same_contract(path: Path) -> None:
    """The names of memory, who fills it, and whose pools it lies in do not come of the emulator."""
    compare(path, "cuda")


def test_every_program_has_a_contract() -> None:
    """Another one would be added to the file, and agree with itself."""
    assert [path.name for path in PROGRAMS] == sorted(json.loads(WRITTEN.read_text())["targets"])
