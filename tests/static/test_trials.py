"""Where the files of a project lie in, how sure `check` is of what tests and benchmarks capture out."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import RULEBOOK

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Confidence

STEP = "def step(x):\n    return x.item()\n"
CAPTURE = """\
import torch
from serve.model import step
def run():
    x = torch.zeros(3, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x)
"""
DELETE = """\
import torch
def run(x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    print(y.sum())
    graph.replay()
"""


def confidences(folder: Path, files: dict[str, str], *named: str, regions: tuple[str, ...] = ()) -> set[Confidence]:
    """How sure `check` is of what it finds in the named paths of a project, else in all of it."""
    for name, text in {"serve/__init__.py": "", "serve/model.py": STEP, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    config = Config(folder, confidence=Confidence.LOW, regions=regions, ignore=("GL609",))
    report = static.check([folder / name for name in named] or [folder], config, RULEBOOK)
    return {finding.confidence for finding in report.findings}


@pytest.mark.parametrize(
    "name",
    [
        "tests/serve.py", "serve/test_model.py", "serve/op_test_utils.py", "benchmarks/serve.py", "serve/Bench/run.py",
        "bench_serve.py",
    ],
)  # fmt: skip
def test_what_stands_in_a_test_or_a_benchmark_is_told_in_a_low_voice(tmp_path: Path, name: str) -> None:
    assert confidences(tmp_path, {name: CAPTURE + "        x.tolist()\n"}) == {Confidence.LOW, Confidence.HIGH}
    assert confidences(tmp_path, {name: CAPTURE.replace("step(x)", "x.item()")}) == {Confidence.LOW}


def test_what_a_test_captures_of_the_program_is_told_as_it_is(tmp_path: Path) -> None:
    assert confidences(tmp_path, {"tests/serve.py": CAPTURE}) == {Confidence.HIGH}


@pytest.mark.parametrize(
    "name",
    [
        "serve/contest.py", "examples/serve.py", "serve/latest/run.py", "serve/workbench.py", "serve/latest_utils.py",
        "serve/train_test_split.py",
    ],
)  # fmt: skip
def test_names_that_only_look_like_those_of_tests_change_nothing(tmp_path: Path, name: str) -> None:
    assert confidences(tmp_path, {name: CAPTURE}) == {Confidence.HIGH}


def test_what_the_program_captures_as_well_is_told_as_if_there_were_no_test(tmp_path: Path) -> None:
    files = {"tests/serve.py": CAPTURE, "serve/run.py": CAPTURE}
    assert confidences(tmp_path, files) == {Confidence.HIGH}


def test_what_stands_around_a_region_of_a_test_is_told_in_a_low_voice(tmp_path: Path) -> None:
    assert confidences(tmp_path, {"serve/run.py": DELETE}) == {Confidence.HIGH}
    (tmp_path / "serve" / "run.py").unlink()
    assert confidences(tmp_path, {"tests/run.py": DELETE}) == {Confidence.LOW}


@pytest.mark.parametrize("named", [["tests/test_serve.py"], ["tests"], ["serve", "tests/test_serve.py"]])
def test_who_names_tests_is_told_as_of_any_other_file(tmp_path: Path, named: list[str]) -> None:
    capture = CAPTURE.replace("step(x)", "x.item()")
    files = {"tests/test_serve.py": capture, "tests/helpers.py": "", "tests/__init__.py": ""}
    assert confidences(tmp_path, files, *named) == {Confidence.HIGH}


def test_a_folder_above_what_is_looked_at_says_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "tests" / "checkout"
    assert confidences(folder, {"serve/run.py": CAPTURE.replace("step(x)", "x.item()")}) == {Confidence.HIGH}


def test_what_is_declared_in_a_test_is_told_as_anywhere_else(tmp_path: Path) -> None:
    files = {"tests/model.py": STEP.replace("(x)", "(x: torch.Tensor)").replace("def", "import torch\ndef")}
    assert Confidence.LOW not in confidences(tmp_path, files, regions=("tests.model:step",))


@pytest.mark.parametrize(("folder", "is_low"), [("testing", True), ("timing", False)])
def test_what_is_declared_is_not_captured_to_be_timed(tmp_path: Path, folder: str, is_low: bool) -> None:
    """An operator that may choose among kernels by trying them leads into what times them."""
    model = f"import torch\nfrom serve.{folder}.timer import timed\ndef step(x: torch.Tensor):\n    timed(x)\n"
    timer = STEP.replace("step", "timed")
    files = {"serve/model.py": model, f"serve/{folder}/__init__.py": "", f"serve/{folder}/timer.py": timer}
    assert is_low is (confidences(tmp_path, files, regions=("serve.model:step",)) == {Confidence.LOW})


def test_a_layer_that_a_test_alone_hands_in_is_told_in_a_low_voice(tmp_path: Path) -> None:
    runner = """\
import torch
class Runner:
    def __init__(self, model):
        self.model = model
    def capture(self, x: torch.Tensor):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.model(x)
"""
    model = "from serve.runner import Runner\nclass Model:\n    def __call__(self, x):\n        return x.item()\n"
    handing = model + "def run(x):\n    Runner(Model()).capture(x)\n"
    assert confidences(tmp_path, {"serve/runner.py": runner, "tests/test_runner.py": handing}) == {Confidence.LOW}
    (tmp_path / "tests" / "test_runner.py").unlink()
    assert confidences(tmp_path, {"serve/run.py": handing}) == {Confidence.MEDIUM}


@pytest.mark.parametrize(("others", "expected"), [(1, Confidence.HIGH), (5, Confidence.LOW)])
def test_where_most_files_are_of_benchmarks_they_are_the_programs(
    tmp_path: Path, others: int, expected: Confidence
) -> None:
    benchmarks = {f"benchmarks/bert/{name}.py": "" for name in ("data", "loss")}
    files = benchmarks | {f"serve/part{number}.py": "" for number in range(others - 1)}
    files["benchmarks/bert/train.py"] = CAPTURE.replace("step(x)", "x.item()")
    assert confidences(tmp_path, files) == {expected}


def test_tests_are_tests_where_most_files_are(tmp_path: Path) -> None:
    files = {"tests/a.py": "", "tests/b.py": "", "tests/serve.py": CAPTURE.replace("step(x)", "x.item()")}
    assert confidences(tmp_path, files) == {Confidence.LOW}
