"""Findings that are known: written down once, recognised when lines move, and named when they are gone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphlint.cli import commands
from graphlint.errors import UsageError

PROGRAM = """\
import torch


def step(x):
    y = x / x.max().item()
    return y.cpu()


def main(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two findings, as the working directory."""
    (tmp_path / "pyproject.toml").write_text("[tool.graphlint]\n", "utf-8")
    (tmp_path / "serve.py").write_text(PROGRAM, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["check", *arguments], standalone_mode=False)


def found(*arguments: str) -> list[tuple[str, int]]:
    """(code, line) of every finding."""
    document = json.loads(check("--format", "json", *arguments).stdout)
    return [(finding["code"], finding["line"]) for finding in document["findings"]]


def test_what_is_known_is_left_out_and_counted(project: Path) -> None:
    """The baseline has every finding, one a line, and the summary counts them as suppressed."""
    assert [("GL101", 5), ("GL201", 6)] == found()
    written = check("--write-baseline", "known.json")
    assert (0, "2 findings are known to known.json from now on\n") == (written.return_value, written.stdout)
    assert 4 == len(Path("known.json").read_text("utf-8").splitlines())
    result = check("--baseline", "known.json")
    assert 0 == result.return_value
    assert "2 suppressed" in result.stdout


def test_the_configuration_names_a_baseline(project: Path) -> None:
    """Its path is relative to the pyproject.toml."""
    check("--write-baseline", "known.json")
    (project / "pyproject.toml").write_text('[tool.graphlint]\nbaseline = "known.json"\n', "utf-8")
    assert [] == found()


def test_moved_lines_are_recognised_and_a_new_mistake_is_not(project: Path) -> None:
    """Lines above, other indentation: still known; the same text once more is new."""
    check("--write-baseline", "known.json")
    text = "# a remark\n\n" + PROGRAM.replace("    return y.cpu()", "    if True:\n        return y.cpu()")
    (project / "serve.py").write_text(text, "utf-8")
    assert [] == found("--baseline", "known.json")
    again = text.replace("    if True:", "    y = x / x.max().item()\n    if True:")
    (project / "serve.py").write_text(again, "utf-8")
    assert [("GL101", 8)] == found("--baseline", "known.json")


def test_a_fixed_finding_is_named(project: Path) -> None:
    """It can be removed; the run does not fail for it."""
    check("--write-baseline", "known.json")
    (project / "serve.py").write_text(PROGRAM.replace("    return y.cpu()", "    return y"), "utf-8")
    result = check("--baseline", "known.json")
    assert 0 == result.return_value
    expected = "graphlint: warning: known.json: fixed, and can be removed: GL201 in serve.py, `return y.cpu()`\n"
    assert expected == result.stderr


@pytest.mark.parametrize("narrower", [["other.py"], ["--select", "GL1"], ["--ignore", "GL2"], ["--confidence", "high"]])
def test_a_narrower_run_says_nothing_of_what_is_gone(project: Path, narrower: list[str]) -> None:
    """What was not looked for is not fixed."""
    (project / "other.py").write_text("x = 1\n", "utf-8")
    check("--write-baseline", "known.json")
    (project / "serve.py").write_text("x = 1\n", "utf-8")
    assert 2 == check("--baseline", "known.json").stderr.count("fixed, and can be removed")
    assert 0 == check("--baseline", "known.json", *narrower).stderr.count("fixed, and can be removed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "cannot read the baseline known.json", id="missing"),
        pytest.param("[", "known.json is not a baseline", id="no JSON"),
        pytest.param("{}", "known.json is not a baseline", id="no findings"),
        pytest.param('{"findings": []}', "known.json is not a baseline", id="no paths"),
        pytest.param('{"findings": [{"line": 1}]}', "known.json is not a baseline", id="other keys"),
    ],
)
def test_a_broken_baseline_is_one_line(project: Path, text: str | None, message: str) -> None:
    """It names the file, and how to write it."""
    if text is not None:
        (project / "known.json").write_text(text, "utf-8")
    error = check("--baseline", "known.json").exception
    assert isinstance(error, UsageError)
    assert message in str(error) and "--write-baseline" in str(error)


def test_a_baseline_that_cannot_be_written_is_one_line(project: Path) -> None:
    """The cause is told."""
    error = check("--write-baseline", "no/such/folder.json").exception
    assert isinstance(error, UsageError) and "No such file or directory" in str(error)


def test_a_project_is_looked_at_whole_and_reported_in_part(project: Path) -> None:
    """The region is in one file, the mistakes in another: only the paths that are named are reported on."""
    step, main = PROGRAM.split("def main")
    (project / "layers.py").write_text(step, "utf-8")
    (project / "serve.py").write_text(f"import torch\nfrom layers import step\n\n\ndef main{main}", "utf-8")
    assert [] == found("layers.py"), "alone, nothing captures it"
    assert [("GL101", 5), ("GL201", 6)] == found("--project", ".", "layers.py")
    assert [] == found("--project", ".", "serve.py")
    assert [("GL101", 5), ("GL201", 6)] == found("--project", ".")
