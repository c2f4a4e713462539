"""From the names of targets to a report, on a machine whose processes find no GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.cli import commands  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.errors import UsageError  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.session.isolation import Ending  # noqa: E402
from graphlint.runtime.session.session import Session, Unusable  # noqa: E402

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="is about machines without a GPU")


@pytest.fixture
def targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two programs that no process can use."""

    def unusable(_context: object, session: Session, _deadline: float, heard: Callable[[object], None]) -> Ending:
        heard(Unusable(f"target `{session.spec.name}`: it is empty"))
        return Ending()

    monkeypatch.setattr(runtime, "run_isolated", unusable)
    for name in ("one.py", "other.py"):
        (tmp_path / name).write_text("x = 1\n")
    return [str(tmp_path / name) for name in ("one.py", "other.py")]


def test_without_a_gpu_there_is_one_line() -> None:
    """It names the cause, and not a target, since it is that of all."""
    with pytest.raises(UsageError, match=r"^torch finds no GPU here"):
        runtime.verify([__file__], load_config(Path(), None), load_rulebook(builtin_rules()), on="cuda")


CAPTURES = """
import torch
x, graph = torch.ones(4, device="cuda"), torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
"""


def test_a_machine_without_a_gpu_has_the_emulator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first line says so, and the last one gives the verdict."""
    program = tmp_path / "program.py"
    program.write_text(CAPTURES)
    status = commands.main(["verify", str(program)], standalone_mode=False)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert status == 0 and first.startswith("emulated on the CPU; not seen: ") and last.startswith(f"safe  {program}")


def test_what_captures_nothing_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing was judged, and the line says why."""
    program = tmp_path / "program.py"
    program.write_text("x = 1\n")
    assert commands.main(["verify", str(program)], standalone_mode=False) == 2
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].startswith(f"cannot tell  {program}: no CUDA graph was captured")
    assert err.startswith(f"graphlint: error: target `{program}`: no CUDA graph was captured")


FAILING = """
import sys
import torch

def fails():
    raise ValueError("no such weights")

def reads():
    return (lambda x: x.sum().item()), (torch.ones(4, device="cuda"),)

def reads_as_well():
    return reads()

def doubles():
    return (lambda x: x * 2), (torch.ones(4, device="cuda"),)

def leaves():
    sys.exit(3)
"""


def test_each_target_has_its_verdict_and_its_own_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that fail at one place are two findings; a line that two reach is one, and names both."""
    (tmp_path / "several.py").write_text(FAILING)
    (tmp_path / "broken.py").write_text("from several import *\nimport nowhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = [f"several.py:{name}" for name in ("fails", "reads", "reads_as_well", "doubles", "leaves")]
    names += ["broken.py:fails", "broken.py:doubles"]
    report = runtime.verify(names, load_config(Path(), None), load_rulebook(builtin_rules()))
    verdicts = ["cannot tell", "refused", "refused", "safe", "cannot tell", "cannot tell", "cannot tell"]
    assert verdicts == [one.verdict for one in report.targets]
    found = {(one.code, one.targets) for one in report.findings}
    failed = {("GL003", (names[number],)) for number in (0, 4, 5, 6)}
    assert found == {("GL101", (names[1], names[2])), *failed}
    (said,) = [one.why for one in report.findings if one.targets == (names[0],)]
    assert f"ValueError: no such weights; raised at {tmp_path / 'several.py'}:6 in fails" in said


def test_a_target_with_a_problem_does_not_end_the_others(targets: list[str]) -> None:
    """Each has a process of its own, and says for itself why it cannot be looked at."""
    steps: list[tuple[str, str]] = []
    rulebook = load_rulebook(builtin_rules())
    report = runtime.verify(targets, load_config(Path(), None), rulebook, progress=lambda *step: steps.append(step))
    assert all(one.problem.startswith(f"target `{one.name}`: it is empty") for one in report.targets)
    assert [one.name for one in report.targets] == targets and report.findings == () and steps == []


def test_the_command_tells_each_problem_and_ends_with_status_two(
    targets: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found is reported all the same."""
    status = commands.main(["verify", *targets], standalone_mode=False)
    out, err = capsys.readouterr()
    assert status == 2 and out.startswith("nothing found: 2 targets, 0 captures")
    assert [line.startswith("graphlint: error: target `") for line in err.splitlines()] == [True, True]
