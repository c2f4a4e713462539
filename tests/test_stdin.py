"""A file may come from a pipe instead of the disk, and be looked at again whenever it changes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from signals import heed_signals

CAPTURING = """\
import torch
from step import step

x = torch.zeros(4, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    step(x)
"""
READING = b"def step(x):\n    return x.sum().item()\n"
KEEPING = b"def step(x):\n    return x.sum()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "serve.py").write_text(CAPTURING, "utf-8")
    (tmp_path / "step.py").write_bytes(KEEPING)
    return tmp_path


def check(project: Path, *arguments: str, text: bytes = b"") -> tuple[int, list[dict[str, object]], str]:
    command = [sys.executable, "-m", "graphlint", "check", "--format", "json", *arguments]
    done = subprocess.run(command, cwd=project, input=text, capture_output=True)
    found = json.loads(done.stdout)["findings"] if done.stdout else []
    return done.returncode, found, done.stderr.decode()


def test_a_text_from_a_pipe_stands_for_a_file(project: Path) -> None:
    """What it says is reported under the name of the file, whose project is looked at."""
    given = ("-", "--stdin-filename", "step.py", "--project", ".")
    status, found, _ = check(project, *given, text=READING)
    assert (1, [("GL101", "step.py", 2)]) == (status, [(f["code"], f["path"], f["line"]) for f in found])
    assert (0, []) == check(project, *given, text=KEEPING)[:2]


def test_what_comes_from_a_pipe_is_not_kept(project: Path) -> None:
    """The answer about the files on the disk is not that about the text, before or after it was asked for."""
    given = ("-", "--stdin-filename", "step.py", "--project", ".")
    assert 0 == check(project)[0]
    assert 1 == check(project, *given, text=READING)[0]
    assert 0 == check(project)[0]


def test_a_file_that_is_not_there_yet_may_come_from_a_pipe(project: Path) -> None:
    """An editor has it open before it is saved."""
    (project / "step.py").unlink()
    status, found, _ = check(project, "-", "serve.py", "--stdin-filename", "step.py", text=READING)
    assert (1, ["GL101"]) == (status, [one["code"] for one in found])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("-",), "name it with --stdin-filename"), (("step.py", "--stdin-filename", "step.py"), "no path is `-`")],
)
def test_a_pipe_has_to_say_which_file_it_is(project: Path, arguments: tuple[str, ...], told: str) -> None:
    """One line, and status 2."""
    status, _, error = check(project, *arguments, text=READING)
    assert 2 == status
    assert told in error and 1 == error.count("\n")


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGINT to send")
def test_a_run_that_watches_looks_again_when_a_file_changes(project: Path) -> None:
    """Each time it reports anew; a mistake in the configuration is told, and it goes on; an interrupt ends it."""
    command = [sys.executable, "-m", "graphlint", "check", "--watch", "--format", "concise"]
    running = subprocess.Popen(
        command, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=heed_signals
    )
    assert running.stdout is not None

    def until(text: str) -> str:
        said = ""
        for line in running.stdout or ():
            said += line
            if text in line:
                return said
        raise AssertionError(f"it ended: {said}")

    try:
        assert "GL101" not in until("looks again")
        (project / "step.py").write_bytes(READING)
        assert "step.py:2:" in until("looks again")
        (project / "pyproject.toml").write_text("[tool.graphlint]\nregion = 1\n", "utf-8")
        until("unknown key `region`")
        (project / "pyproject.toml").unlink()
        assert "GL101" in until("looks again")
        running.send_signal(signal.SIGINT)
        assert 130 == running.wait(60)
    finally:
        running.kill()
        running.stdout.close()
