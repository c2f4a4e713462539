"""Targets on the emulator: what ends badly is told, and the process that asks stays as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.finding import Report  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.examine.target import Runs  # noqa: E402
from graphlint.runtime.session import isolation  # noqa: E402

LINES = """\
import os, threading, torch

model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 4)).cuda()
inputs = (torch.rand(4, 8, device="cuda"),)


def good():
    return model, inputs


class Counter(torch.nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


def counting():
    return Counter(), inputs


def reading():
    def read(x):
        if x.sum() > 0:
            x = x + 1
        return x * x.mean().item()

    return read, inputs


def crashing():
    return lambda x: os.abort(), inputs


def leaving():
    return lambda x: os._exit(3), inputs


def endless():
    def wait(x):
        while True: x = x + 1

    return wait, inputs


def threaded():
    def step(x):
        found = []
        thread = threading.Thread(target=lambda: found.append(torch.ones(4, 8, device="cuda").sum()))
        thread.start()
        thread.join()
        return x * 2

    return step, inputs


def drawing(scale):
    def step(x):
        if torch.cuda.is_current_stream_capturing():
            return x * (torch.rand(x.shape[::-1], device="cuda").T < 0.5) * scale
        return torch.nn.functional.dropout(x)

    return step, inputs


def drawing_others():
    return drawing(2)


def drawing_larger():
    return drawing(200)


def recurrent():
    layer = torch.nn.LSTM(8, 4, bidirectional=True).cuda()
    return torch.no_grad()(lambda x: layer(x)[0]), inputs  # its kernel returns less where nothing records gradients
"""
ASKING = """\
import torch


class Told(torch.cuda.graph):
    def __init__(self, *args, capture_error_mode, **kwargs):
        assert capture_error_mode == "relaxed"
        super().__init__(*args, capture_error_mode=capture_error_mode, **kwargs)


def relaxed():
    torch.cuda.graph = Told
    return torch.sin, (torch.ones(4, device="cuda"),)
"""


def look(folder: Path, factory: str, deadline: float = 60.0) -> Report:
    """What is found in one target."""
    file = folder / "targets.py"
    file.write_text(LINES)
    config = load_config(folder, None)
    rulebook = load_rulebook(builtin_rules())
    return runtime.verify([f"{file}:{factory}"], config, rulebook, on="emulator", deadline=deadline)


def places(report: Report) -> list[tuple[str, str]]:
    """Each code with the text of its line."""
    lines = LINES.splitlines()
    return [(one.code, lines[one.span.line - 1].strip()) for one in report.findings]


@pytest.mark.parametrize("factory", ["good", "threaded", "recurrent"])
def test_a_target_that_is_safe_is_silent(factory: str, tmp_path: Path) -> None:
    """It draws random numbers, as eager does; a thread of its own runs on the device too."""
    report = look(tmp_path, factory)
    assert [] == places(report) and report.targets[0].problem == ""
    assert report.witness == "emulator" and report.summary.regions == 1


def test_other_random_numbers_are_no_difference_that_counts(tmp_path: Path) -> None:
    """Another kernel may draw others; what is more than they explain is told."""
    report = look(tmp_path, "drawing_others")
    assert [] == places(report) and "other random numbers" in report.targets[0].unseen
    assert [("GL405", "if torch.cuda.is_current_stream_capturing():")] == places(look(tmp_path, "drawing_larger"))


def test_a_number_that_changes_between_calls_is_found_by_comparing(tmp_path: Path) -> None:
    """The graph keeps the number of the capture, and does not count on."""
    found = [("GL401", "self.calls += 1"), ("GL402", "return x * self.calls")]
    assert found == places(look(tmp_path, "counting"))


def test_a_run_goes_on_after_what_a_capture_refuses(tmp_path: Path) -> None:
    """Both lines are reported."""
    found = [("GL301", "if x.sum() > 0:"), ("GL101", "return x * x.mean().item()")]
    assert found == places(look(tmp_path, "reading"))


@pytest.mark.parametrize(
    ("factory", "line", "why"),
    [
        pytest.param("crashing", "return lambda x: os.abort(), inputs", "SIGABRT", id="a crash"),
        pytest.param("leaving", "import os, threading, torch", "ended with status 3", id="an exit"),
        pytest.param("endless", "while True: x = x + 1", "was not done after 6 seconds", id="an endless loop"),
    ],
)
def test_how_a_target_ends_is_a_finding(
    factory: str, line: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing hangs; the line is told where the process could still say where it was."""
    monkeypatch.setattr(isolation, "GRACE", 0.5)
    report = look(tmp_path, factory, deadline=6.0)
    ((code, found),) = places(report)
    assert code == "GL003" and found in (line, LINES.splitlines()[0])
    assert why in report.findings[0].why


def test_the_process_that_asks_keeps_its_torch(tmp_path: Path) -> None:
    """What is replaced is replaced in the process of the target."""
    before = torch.Tensor.device, torch.cuda.Stream, torch.Generator, torch.tensor
    look(tmp_path, "good")
    assert before == (torch.Tensor.device, torch.cuda.Stream, torch.Generator, torch.tensor)
    assert not torch.zeros(1).is_cuda


@pytest.mark.parametrize(("mode", "codes"), [("relaxed", []), ("global", ["GL003"])])
def test_a_capture_is_taken_in_the_mode_that_is_asked_for(mode: str, codes: list[str], tmp_path: Path) -> None:
    """The target looks at what `torch.cuda.graph` is told."""
    file = tmp_path / "targets.py"
    file.write_text(ASKING)
    rulebook, runs = load_rulebook(builtin_rules()), Runs(capture_error_mode=mode)
    report = runtime.verify([f"{file}:relaxed"], load_config(tmp_path, None), rulebook, on="emulator", runs=runs)
    assert codes == [one.code for one in report.findings]


TRAINS = """
import resource, torch

model = torch.nn.Linear(2048, 2048).cuda()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
steps = open("steps.txt", "w", buffering=1)

def step(x):
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=steps)
    optimizer.zero_grad(set_to_none=True)
    model(x).square().mean().backward()
    optimizer.step()

def target():
    return step, (torch.rand(4, 2048, device="cuda"),)
"""
EAGER_STEPS = 8
COPIES = 6  # of what a step needs: its own, what it began with, those of the graph, and what copying takes


def test_a_training_step_runs_few_times_and_keeps_few_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where replays are like eager, numbers of earlier steps are of no use."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "targets.py"
    file.write_text(TRAINS)
    report = runtime.verify(
        [f"{file}:target"], load_config(tmp_path, None), load_rulebook(builtin_rules()), on="emulator"
    )
    assert report.targets[0].verdict == "safe"
    before, after, *later = map(int, (tmp_path / "steps.txt").read_text().split())
    assert len(later) + 2 <= EAGER_STEPS + 1  # with the capture
    assert later[-1] - before <= COPIES * (after - before), (before, after, later)


NAMED = """
import torch
from torch import tensor

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(tensor([1.0, 2.0]))

    def forward(self, x):
        return tensor(x) if x is None else x * self.weight

def target():
    return Scaled().cuda(), (torch.ones(2, device="cuda"),)
"""


def test_a_name_that_a_program_takes_from_torch_leads_to_nothing_of_the_emulator(tmp_path: Path) -> None:
    """Where tensors lie is no state of the program, and is not put back."""
    (tmp_path / "named.py").write_text(NAMED)
    report = runtime.verify(
        [f"{tmp_path}/named.py:target"], load_config(tmp_path, None), load_rulebook(builtin_rules()), on="emulator"
    )
    assert ([], "safe") == ([one.why for one in report.findings], report.targets[0].verdict)
