"""What was measured of the operations of torch holds together, and the static half says the same, or says why."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable

import pytest
from generated import assert_section
from proof.evidence import recorded
from proof.programs import ROOT
from sweep.measure import statements as listed_statements
from sweep.predictions import FOLDER, Judged, Record, judge, samples, statements

DIFFERENCES = tomllib.loads((FOLDER / "differences.toml").read_text("utf-8"))
RENEW = "run `python -m tests.sweep.measure FILE` on a machine with a GPU"


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return judge(statements())


def waits(record: Record) -> int:
    """How often the host waited for the device in eager, forward and backward."""
    return sum(sum(record.get(key, {}).values()) for key in ("syncs", "forward_syncs", "backward_syncs"))


def name_of(record: Record) -> str:
    return str(record["statement"] if record["form"] == "statement" else record["operation"])


def explained(kind: str) -> set[str]:
    """The samples that differ for a known reason."""
    return {name for reason in DIFFERENCES[kind].values() for names in reason.values() for name in names}


def assert_explained(different: Iterable[Record], kind: str) -> None:
    """Each sample that differs has its reason, and each reason its sample."""
    names = {name_of(record) for record in different}
    assert sorted(names - explained(kind)) == []
    assert sorted(explained(kind) - names) == []


def test_every_failed_capture_is_reported_or_explained(judged: list[Judged]) -> None:
    """A missed alarm has its reason in `differences.toml`."""
    assert_explained((one.record for one in judged if one.is_missed), "missed")


def test_nothing_that_captured_is_reported_or_it_is_explained(judged: list[Judged]) -> None:
    """A false alarm has its reason in `differences.toml`."""
    assert_explained((one.record for one in judged if one.is_false_alarm), "false-alarm")


def test_what_waits_in_eager_does_not_capture() -> None:
    """Not one of the samples that wait for the device could be captured."""
    assert [record["key"] for record in samples() if waits(record) and record["captures"]] == []


def test_what_does_not_wait_and_fails_is_refused_for_a_known_reason() -> None:
    """The other way round there are exceptions: waits unseen by torch, random state, streams, pageable memory."""
    causes = {str(record["cause"]) for record in samples() if not waits(record) and not record["captures"]}
    reasons = set(DIFFERENCES["refused"])
    assert [cause for cause in sorted(causes) if not any(reason in cause for reason in reasons)] == []
    assert [reason for reason in sorted(reasons) if not any(reason in cause for cause in causes)] == []


def test_a_replay_equals_eager() -> None:
    """On the same operands and random state, all samples but those that are explained."""
    assert_explained((record for record in samples() if record["replay"] not in ("equal", None)), "replay")


def test_the_sweep_covers_the_database_and_the_list() -> None:
    """Nearly every OpInfo, forward and backward, and every listed statement as it is written today."""
    assert len({record["opinfo"] for record in samples() if "opinfo" in record}) >= 690
    passes = [record["pass"] for record in samples() if record["form"] != "statement"]
    assert passes.count("forward") >= 4000
    assert passes.count("backward") >= 3000
    assert set(listed_statements()) == {r["statement"] for r in samples() if r["form"] == "statement"}, RENEW


def test_the_readme_tells_the_numbers(judged: list[Judged], bless: bool) -> None:
    """What was run and measured, on which devices, and how far the static half agrees."""
    assert_section(ROOT / ".github" / "EVIDENCE.md", "measured", numbers(judged), bless)


def numbers(judged: list[Judged]) -> str:
    by_operation: dict[str, set[bool]] = defaultdict(set)
    for record in samples():
        if record["form"] == "function" and record["pass"] == "forward":
            by_operation[record["operation"]].add(record["captures"])
    keys = {record["key"]: record["pass"] if "opinfo" in record else "statement" for record in samples()}
    kinds = list(keys.values())
    effects = tomllib.loads((ROOT / "rules" / "operations.toml").read_text("utf-8"))["effects"]
    conditional = [rows for rows in effects.values() if any(" " in row.get("when", "") for row in rows)]
    rows = [
        *(
            (f"programs run on {d['gpu']}, torch {d['torch']}, CUDA {d['cuda']}", len(one.records))
            for one in recorded()
            for d in [one.device]
        ),
        ("OpInfos measured", len({record["opinfo"] for record in samples() if "opinfo" in record})),
        ("samples of them, forward", kinds.count("forward")),
        ("samples of them, backward", kinds.count("backward")),
        ("statements measured besides", kinds.count("statement")),
        ("samples on which devices differ", len(samples()) - len(keys)),
        ("operations of which every sample fails to capture", sum(found == {False} for found in by_operation.values())),
        ("operations of which it depends on the arguments", sum(len(found) == 2 for found in by_operation.values())),
        ("operations that captured with every sample", sum(found == {True} for found in by_operation.values())),
        ("operations with effects in the catalogue", len(effects)),
        ("of these, with an effect that depends on the arguments", len(conditional)),
        ("effects with a proof", sum("proof" in row for rows in effects.values() for row in rows)),
        ("effects that are assumed", sum("proof" not in row for rows in effects.values() for row in rows)),
        ("statements that the static half was asked about", len(judged)),
        ("of these, failed and not reported at that line", sum(one.is_missed for one in judged)),
        ("of these, captured and reported as an error", sum(one.is_false_alarm for one in judged)),
    ]
    return "".join(["| | |\n| --- | ---: |\n", *(f"| {name} | {number:,} |\n" for name, number in rows)])
