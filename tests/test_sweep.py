"""The sweep's parent: workers that die, hang or ask for another lose nothing, and a second run resumes the first."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from sweep import measure
from sweep.measure import NoWorker, Sweep
from sweep.predictions import factory, judge

WORKER = """
import json, os, sys, time
from pathlib import Path

def say(message):
    print(json.dumps(message), flush=True)

say({"ready": {"gpu": "none"}, "opinfos": ["abs", "exp", "log", "neg"]})
for count, line in enumerate(sys.stdin):
    task = json.loads(line)
    if task["opinfo"] == "log" or (task["opinfo"] == "exp" and count):
        os._exit(4)
    for number in range(3):
        key = f"{task['opinfo']}/{number}"
        if key in task["skip"]:
            continue
        say({"begin": {"key": key, "form": "function", "opinfo": task["opinfo"], "pass": "forward"}})
        if key == "abs/1":
            os.abort()
        if key == "neg/0":
            time.sleep(60)
        if key == "neg/2" and not Path(sys.argv[1] + ".again").exists():
            Path(sys.argv[1] + ".again").touch()
            say({"again": key})
            os._exit(3)
        say({"end": {"key": key, "form": "function", "opinfo": task["opinfo"], "pass": "forward", "captures": True}})
    say({"done": True})
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    """A sweep over two made-up entries, with a worker that needs no GPU."""
    monkeypatch.setattr(measure, "statements", list)
    script = tmp_path / "worker.py"
    script.write_text(WORKER, "utf-8")
    return Sweep(tmp_path / "out.jsonl.gz", (sys.executable, str(script), str(tmp_path / "runs")), sample_seconds=0.5)


def test_a_worker_that_dies_or_hangs_costs_one_sample(sweep: Sweep) -> None:
    """The sample in progress is recorded as such, and a new worker goes on behind it."""
    sweep.run(workers=1, only="", budget=60, samples=3)
    assert {"abs/0", "abs/1", "abs/2", "neg/0", "neg/1", "neg/2"} <= sweep.records.keys()
    assert "SIGABRT" in str(sweep.records["abs/1"]["died"])
    assert "silent" in str(sweep.records["neg/0"]["died"])
    assert sweep.records["neg/2"]["captures"], "a doubtful sample is tried again"


def test_a_worker_that_dies_before_a_sample_is_replaced_once(sweep: Sweep) -> None:
    """What came before may have broken it; a new worker that dies as well leaves the task as it is."""
    sweep.run(workers=1, only="", budget=60, samples=3)
    assert all(sweep.records[f"exp/{number}"]["captures"] for number in range(3))
    assert ["log/task"] == [key for key in sweep.records if key.startswith("log/")]


def test_what_was_recorded_is_not_measured_again(sweep: Sweep, tmp_path: Path) -> None:
    """A torn last line of an interrupted run is forgotten, all others are kept."""
    kept = {"key": "abs/0", "form": "function", "kept": True}
    lines = [json.dumps({"gpu": "none"}), json.dumps(kept), '{"key": "abs/2", "fo']
    sweep.partial.write_text("\n".join(lines), "utf-8")
    resumed = Sweep(sweep.out, sweep.command, sweep.sample_seconds)
    resumed.run(workers=2, only="abs", budget=60, samples=3)
    written = [json.loads(line) for line in gzip.decompress(sweep.out.read_bytes()).decode().splitlines()]
    assert [{"gpu": "none"}, kept] == written[:2]
    assert ["abs/0", "abs/1", "abs/2"] == [record["key"] for record in written[1:]]
    assert not sweep.partial.exists()


def test_a_worker_that_never_starts_is_told_of(sweep: Sweep) -> None:
    """A machine without a GPU, or without PyTorch, gets its last line."""
    sweep.command = (sys.executable, "-c", "raise ModuleNotFoundError('no torch')")
    with pytest.raises(NoWorker, match="status 1: ModuleNotFoundError: no torch"):
        sweep.run(workers=1, only="", budget=60, samples=3)


def test_a_statement_is_judged_with_its_operands() -> None:
    """The same words are reported on a device tensor, and are not on a host tensor."""
    asked = {"form": "function", "statement": "a.item()", "captures": False}
    device, host = ({**asked, "operands": {"a": f"{place} float32 []"}} for place in ("cuda", "cpu"))
    assert [{"GL101"}, set()] == [set(judged.breaking) for judged in judge([device, host])]


@pytest.mark.parametrize(
    ("description", "expression"),
    [
        ("cuda float32 [4, 4] grad", 'torch.empty([4, 4], dtype=torch.float32, device="cuda")'),
        ("cpu int64 []", "torch.empty([], dtype=torch.int64)"),
        ("pinned bool [3]", "torch.empty([3], dtype=torch.bool, pin_memory=True)"),
        ("cuda float32 [2, 2] sparse_csr", 'torch.empty([2, 2], dtype=torch.float32, device="cuda")'),
    ],
)
def test_an_operand_is_made_as_it_is_described(description: str, expression: str) -> None:
    """Place, dtype and shape are what the static half can know."""
    assert expression == factory(description)
