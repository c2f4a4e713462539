"""Two ranks under `torchrun`, on two GPUs or emulated: one report for both, and what they send each other compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from rank_programs import HEAD, RIGHT, WRONG  # noqa: E402

from graphlint.finding import Collective, Finding, Report, Summary, TargetReport  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.judge.collectives import collectives  # noqa: E402
from graphlint.runtime.session.ranks import Ranks, first_difference, joined  # noqa: E402
from graphlint.runtime.trace.operators import Traced  # noqa: E402

needs_ranks = pytest.mark.skipif(
    not torch.distributed.is_available() or torch.cuda.device_count() == 1, reason="needs two GPUs, or none and gloo"
)


def together(folder: Path, programs: Mapping[str, str], *options: str) -> tuple[int, dict[str, Any], str]:
    """The status of the job, the report of both ranks, and what else was said."""
    files = []
    for name, text in programs.items():
        files.append(folder / f"{name.replace(' ', '_')}.py")
        files[-1].write_text(HEAD + text)
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    file = folder / "report.json"
    given = ["--on", "auto", "--format", "json", "--output-file", str(file), "--deadline", "60", *options]
    ended = subprocess.run(
        [*launch, "-m", "graphlint", "verify", *map(str, files), *given],
        capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return ended.returncode, json.loads(file.read_text("utf-8")), ended.stderr


@needs_ranks
def test_ranks_that_belong_together_are_safe(tmp_path: Path) -> None:
    """With one verdict for each program, and no word of the second rank."""
    status, report, said = together(tmp_path, RIGHT)
    assert (status, report["findings"]) == (0, []), said
    assert ["safe"] * len(RIGHT) == [target["verdict"] for target in report["targets"]]


@needs_ranks
def test_what_is_wrong_between_ranks_is_told_once_at_its_line(tmp_path: Path) -> None:
    """Order, groups and DDP that are not ready, groups made in a capture, a barrier, a group that ends early."""
    status, report, said = together(tmp_path, {name: text for name, (_, text) in WRONG.items()})
    found = {Path(one["path"]).stem: (one["code"], one["line"]) for one in report["findings"]}
    lines = {name: (HEAD + text).splitlines() for name, (_, text) in WRONG.items()}
    told = {name: 1 + next(n for n, line in enumerate(text) if "# told" in line) for name, text in lines.items()}
    assert {name.replace(" ", "_"): (code, told[name]) for name, (code, _) in WRONG.items()} == found, said
    assert (status, len(WRONG)) == (1, len(report["findings"]))


@pytest.mark.skipif(not torch.distributed.is_available(), reason="needs a store")
def test_a_rank_waits_as_long_for_a_port_as_for_the_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 0 gives a port when it is done with the targets before, each of which may take its whole deadline."""
    from torch.distributed import TCPStore

    shared = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    job = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(shared.port)}
    for name, value in (job | {"TORCHELASTIC_USE_AGENT_STORE": "True"}).items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_job().store.timeout == timedelta(days=1) > shared.timeout


RULEBOOK = load_rulebook(builtin_rules())


def collective(what: str = "allreduce of float32[4]", text: str = "dist.all_reduce(x)", line: int = 1) -> Collective:
    return Collective(what, text, "step.py", line, "step")


@pytest.mark.parametrize(
    ("ours", "theirs", "differs"),
    [
        pytest.param("ab", "ab", None, id="the same"),
        pytest.param("ab", "ba", ("a", "b"), id="the same names in another order"),
        pytest.param("ab", "cd", None, id="other names in the same order"),
        pytest.param("ab", "b", None, id="one that may be eager"),
        pytest.param("aG", "Ga", ("a", "G"), id="another operator"),
    ],
)
def test_collectives_are_matched_in_order(
    ours: str, theirs: str, differs: tuple[str | None, str | None] | None
) -> None:
    """Capital letters stand for another operator."""
    made = {one: collective("gather" if one.isupper() else "reduce", one) for one in {*ours, *theirs}}
    expected = None if differs is None else tuple(made[one] for one in differs)
    assert expected == first_difference([made[one] for one in ours], [made[one] for one in theirs])


def test_a_collective_is_told_with_the_shapes_that_all_ranks_have_to_agree_on() -> None:
    """Where they have to; what two ranks run alone is none, nor is another operator."""
    shapes = ((torch.Size([4]), torch.float32),)
    names = ("allreduce_", "allgather_", "barrier", "send", "recv_any_source_")
    ran = [Traced(f"c10d.{name}.default", (), shapes, []) for name in names]
    ran.append(Traced("aten.sum.default", (), shapes, []))
    told = collectives(SimpleNamespace(decisions=ran, stack=()))  # type: ignore[arg-type]
    assert ["allreduce of float32[4]", "allgather", "barrier"] == [one.what for one in told]


def report(verdict: str = "safe", findings: tuple[Finding, ...] = (), problem: str = "") -> Report:
    return Report("capture", findings, Summary(), targets=(TargetReport("step.py", {}, problem, verdict=verdict),))


def test_a_rank_that_does_not_answer_is_a_problem() -> None:
    """It may wait for another one, and nothing is safe then."""
    (target,) = joined([report(), None], RULEBOOK).targets
    assert target.verdict == "cannot tell"
    assert target.problem == "target `step.py`: rank 1 did not answer, which may wait for another one"


def test_the_worst_verdict_of_all_ranks_counts() -> None:
    """And the problem of any."""
    assert "refused" == joined([report(), report("refused")], RULEBOOK).targets[0].verdict
    assert "cannot tell" == joined([report("refused"), report("cannot tell")], RULEBOOK).targets[0].verdict
    assert "it is empty" == joined([report(), report("", problem="it is empty")], RULEBOOK).targets[0].problem
