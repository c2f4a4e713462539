"""The listed statements on the emulator: it does with them what a device was measured to do, or says why not."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections import defaultdict

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numpy")

from proof.programs import ROOT  # noqa: E402
from sweep.emulated import differences, emulated, measured  # noqa: E402
from sweep.predictions import FOLDER, samples  # noqa: E402

from graphlint.rulebook import builtin_catalogue, builtin_rules  # noqa: E402
from graphlint.rulebook.operators import operator_name  # noqa: E402

EXPLAINED = tomllib.loads((FOLDER / "differences.toml").read_text("utf-8"))["emulator"]
KINDS = ("captures", "refuses", "fails", "nodes", "replay")
OF_VERDICTS = ("captures", "refuses", "fails")
LEAST_SHARE = 0.995
CATALOGUE = builtin_catalogue()
OPERATORS = tomllib.loads((builtin_rules() / "operations.toml").read_text("utf-8"))["operators"]
SEEN = ("syncs", "forward_syncs", "backward_syncs")  # what a record tells of the operators that wait
# What waits without a row: a copy, which depends on the memory, and what is asked of tensors that are not plain ones.
WITHOUT_ROW = {"aten._to_copy.default", "aten.mm.default", "aten.unbind.int"}

pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith(EXPLAINED["torch"]),
    reason=f"the differences are those of torch {EXPLAINED['torch']}",
)


@pytest.fixture(scope="module")
def found() -> dict[str, list[str]]:
    """The statements that differ, by what differs."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for kind, statement in differences():
        by_kind[kind].append(statement)
    return by_kind


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_emulator_does_otherwise_is_explained(found: dict[str, list[str]], kind: str) -> None:
    """Each statement that differs has its reason in `differences.toml`, and each reason its statements."""
    explained = [name for reason in EXPLAINED[kind].values() for name in reason["statements"]]
    assert sorted(explained) == sorted(found[kind])


def test_a_difference_is_one_of_releases_or_a_limit() -> None:
    """Nothing else is a reason."""
    reasons = [reason for kind in KINDS for reason in EXPLAINED[kind]]
    assert [] == [reason for reason in reasons if not reason.startswith(("release: ", "limit: "))]


def test_nearly_every_statement_ends_as_on_a_device(
    found: dict[str, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """It captures where that captures, and is refused where that refuses."""
    asked = len(emulated().keys() & measured().keys())
    agreed = asked - sum(len(found[kind]) for kind in OF_VERDICTS)
    with capsys.disabled():
        print(f"\nthe emulator agrees on {agreed:,} of {asked:,} statements, {agreed / asked:.2%}")
    assert asked >= 0.98 * len(measured())
    assert agreed / asked >= LEAST_SHARE


def rows() -> dict[str, dict[str, str]]:
    """The rows of operators by schema and number."""
    return {
        f"{schema}#{n}": row
        for schema, own in OPERATORS.items()
        if not isinstance(own, str)
        for n, row in enumerate(own)
    }


def test_without_its_row_an_operator_captures_what_is_its_proof() -> None:
    """A device refuses that statement, and so does the emulator with the row."""
    proven = {key: row["proof"] for key, row in rows().items() if "proof" in row}
    command = [sys.executable, "-m", "tests.sweep.operator_proofs"]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True)
    assert {key: [False, True] for key in proven} == json.loads(done.stdout)
    assert [] == [proof for proof in proven.values() if measured()[proof]["captures"]]


def test_what_was_seen_to_wait_has_a_row() -> None:
    """By name, in the traces of a device; and what has a row without a proof is among it."""
    seen = {name for record in samples() for key in SEEN for name in record.get(key) or {} if "." in name}
    silent = {name for name in seen if (known := CATALOGUE.find(f"torch.ops.{name}")) is None or not known.told}
    assert WITHOUT_ROW == silent
    assumed = {operator_name(key.partition("#")[0])[0] for key, row in rows().items() if "proof" not in row}
    waiting = {name.rpartition(".")[0] for name in seen}
    refused = {str(one["operation"]) for one in samples() if not one["captures"] and one["operation"]}
    known = waiting | {f"aten.{name.rpartition('.')[2]}" for name in refused}  # a library may wait without a trace
    assert set() == assumed - {f"torch.ops.{name}" for name in known}
