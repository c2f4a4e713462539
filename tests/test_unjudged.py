"""Greens that judged nothing: each has a message, a status, and no look of a clean program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from graphlint import cli

CAPTURE = """import torch

def main(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x + 1
"""
MODEL = """import torch

class {name}(torch.nn.Module):
    def forward(self, x):
        return x.item()
"""
BROKEN = "def f(:\n    pass\n"
IGNORED = "def f(x):\n    return x.item()  # graphlint: ignore[GL101] read before\n"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in a folder of its own: its status, and what it says on both streams."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["graphlint", *arguments])
        with pytest.raises(SystemExit) as exit_:
            cli.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    return command


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_a_run_without_a_region_says_what_it_looked_for(run: Run, tmp_path: Path) -> None:
    """How to declare one, and what would be proposed."""
    write(tmp_path, **{name: MODEL.format(name=name) for name in ("One", "Two", "Three", "Four")})
    status, out, err = run("check")
    assert 0 == status and out.startswith("nothing found: 4 files, 0 regions")
    assert err.startswith("graphlint: warning: no capture region was found, so nothing was judged; looked for `torch.")
    assert "`torch.compile`" in err and "--region module:qualname" in err
    assert "`graphlint init` would propose `Four:Four.forward`, `One:One.forward`, `Three:Three.forward` and 1" in err
    assert 1 == err.count("\n")


def test_a_run_with_a_region_warns_of_nothing(run: Run, tmp_path: Path) -> None:
    """Nor does one that is declared."""
    write(tmp_path, main=CAPTURE, other="x = 1\n")
    assert (0, "") == run("check")[::2]
    write(tmp_path, main=MODEL.format(name="M"))
    status, out, err = run("check", "--region", "main:M.forward")
    assert (1, "") == (status, err) and "GL101" in out


def test_a_folder_without_sources_is_told(run: Run, tmp_path: Path) -> None:
    """Nothing there is not nothing found."""
    (tmp_path / "notes.txt").write_text("x")
    expected = "graphlint: warning: no Python file and no notebook was found, so nothing was judged\n"
    assert (0, expected) == run("check")[::2]


def test_a_path_outside_of_the_project_is_an_error(run: Run, tmp_path: Path) -> None:
    """Nothing in it would be judged; one that is not there is an error as well."""
    (tmp_path / "inside").mkdir()
    write(tmp_path / "inside", main=CAPTURE)
    write(tmp_path, outside=CAPTURE)
    status, out, err = run("check", "--project", "inside", "outside.py")
    assert (2, "") == (status, out)
    assert "error: `outside.py` lies outside of --project inside, so nothing in it would be judged\n" in err
    assert 2 == run("check", "--project", "inside", ".")[0]
    assert (2, "graphlint: error: `inside/no.py` does not exist\n") == run(
        "check", "--project", "inside", "inside/no.py"
    )[::2]
    assert (0, "") == run("check", "--project", "inside", "inside/main.py")[::2]


def test_a_file_that_does_not_parse_is_told(run: Run, tmp_path: Path) -> None:
    """It is a finding where it is named or reached, and a warning where no region is known to reach it."""
    write(tmp_path, main=CAPTURE, broken=BROKEN)
    status, out, err = run("check")
    assert 0 == status and out.startswith("nothing found")
    expected = "what cannot be parsed was not looked at, and no region is known to reach it: broken.py:1\n"
    assert f"graphlint: warning: {expected}" == err
    status, out, err = run("check", "main.py", "broken.py")
    assert (1, "") == (status, err) and "error[GL001]" in out
    write(tmp_path, main=CAPTURE.replace("x + 1", "f(x)").replace("import torch", "import torch\nfrom broken import f"))
    status, out, err = run("check")
    assert (1, "") == (status, err) and "error[GL001]" in out


def test_a_file_that_is_repaired_is_told_no_more(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a run knows what it did not parse."""
    monkeypatch.delenv("GRAPHLINT_NO_CACHE", raising=False)
    write(tmp_path, main=CAPTURE, other=BROKEN)
    for _ in range(2):
        assert "other.py:1" in run("check")[2]
    write(tmp_path, other="x = 1\n")
    assert "" == run("check")[2]
    write(tmp_path, other="x = 2\n")
    assert "" == run("check")[2]
    write(tmp_path, other="\n" + BROKEN)
    assert "other.py:2" in run("check")[2]


def test_a_region_that_is_new_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a run that found none knows that nothing opened one."""
    monkeypatch.delenv("GRAPHLINT_NO_CACHE", raising=False)
    write(tmp_path, main="x = 1\n")
    assert "no capture region was found" in run("check")[2]
    write(tmp_path, main=CAPTURE.replace("x + 1", "x.item()"))
    assert 1 == run("check")[0]


def test_comments_that_no_region_reaches_are_told(run: Run, tmp_path: Path) -> None:
    """Whether they suppress anything nobody can say; what a region reaches has findings of GL002."""
    write(tmp_path, main=CAPTURE, helper=IGNORED)
    status, out, err = run("check")
    assert 0 == status and out.startswith("nothing found")
    expected = "ignore comments were not judged, since no region reaches their files: helper.py:2\n"
    assert f"graphlint: warning: {expected}" == err
    assert (0, "") == run("check", "--region", "helper:f")[::2]
    write(tmp_path, main=CAPTURE.replace("x + 1", "x + 1  # graphlint: ignore[GL101]"), helper="x = 1\n")
    status, out, err = run("check")
    assert (1, "") == (status, err) and "GL002" in out


def test_five_places_are_named(run: Run, tmp_path: Path) -> None:
    """The others are counted."""
    write(tmp_path, main=CAPTURE, **{f"b{number}": BROKEN for number in range(7)})
    assert run("check")[2].endswith("b0.py:1, b1.py:1, b2.py:1, b3.py:1, b4.py:1 and 2 more\n")


def test_only_what_lies_on_the_paths_is_told(run: Run, tmp_path: Path) -> None:
    """In a project, of which a commit holds a part."""
    write(tmp_path, main=CAPTURE, broken=BROKEN)
    assert "" == run("check", "--project", ".", "main.py")[2]
    assert "broken.py:1" in run("check", "--project", ".", "broken.py")[2]


def test_programs_are_told_as_well(run: Run, tmp_path: Path) -> None:
    """JSON and SARIF hold what stands on stderr."""
    write(tmp_path, main=CAPTURE, broken=BROKEN)
    _, out, err = run("check", "--format", "json")
    (notice,) = json.loads(out)["notices"]
    assert notice["message"] in err and [{"path": "broken.py", "line": 1}] == notice["places"]
    _, out, err = run("check", "--format", "sarif")
    (invocation,) = json.loads(out)["runs"][0]["invocations"]
    (told,) = invocation["toolExecutionNotifications"]
    assert invocation["executionSuccessful"] and "warning" == told["level"]
    assert told["message"]["text"] in err
    assert "broken.py" == told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_counts_have_their_number(run: Run, tmp_path: Path) -> None:
    """One finding is known, two are."""
    write(tmp_path, main=CAPTURE.replace("x + 1", "x.item()"))
    assert "1 finding is known to known.json from now on\n" == run("check", "--write-baseline", "known.json")[1]
    write(tmp_path, main=CAPTURE.replace("x + 1", "x.item() + x.tolist()[0]"))
    assert "2 findings are known to known.json from now on\n" == run("check", "--write-baseline", "known.json")[1]
