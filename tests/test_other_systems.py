"""What macOS and Windows lack is taken away: `check`, the hook and the emulator run as far as they are said to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PROGRAM = """import torch

def main(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = x.item()
"""
TARGET = """import torch

def target():
    return torch.sin, (torch.ones(4, device="cuda"),)
"""
# Python has these on POSIX alone, by its documentation; what click needs on a terminal is left.
WINDOWS = """
for module, names in {
    os: "fork forkpty register_at_fork killpg setsid setpgid getpgid getpgrp getuid geteuid getgid wait3 wait4 WNOHANG"
    " O_NONBLOCK O_NOFOLLOW O_CLOEXEC O_DIRECTORY sched_getaffinity mkfifo mknod statvfs pread pwrite fchmod chown"
    " chroot getloadavg sysconf uname nice openpty posix_spawn sendfile",
    signal: "SIGALRM SIGHUP SIGUSR1 SIGUSR2 SIGCHLD SIGKILL SIGQUIT SIGPIPE setitimer ITIMER_REAL alarm pause sigwait"
    " pthread_sigmask pthread_kill siginterrupt",
    faulthandler: "register",
    select: "poll epoll",
}.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
for name in ("resource", "fcntl", "pwd", "grp", "syslog", "pty"):
    sys.modules[name] = None
"""
# What Linux alone has: prctl of its C library, /proc.
MACOS = """
import ctypes, pathlib
ctypes.CDLL = lambda *_: object()
read, write, exists = pathlib.Path.read_text, pathlib.Path.write_text, pathlib.Path.exists
def missing(path):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", str(path))
    return path
pathlib.Path.read_text = lambda self, *a, **k: read(missing(self), *a, **k)
pathlib.Path.write_text = lambda self, *a, **k: write(missing(self), *a, **k)
pathlib.Path.exists = lambda self, **k: not str(self).startswith("/proc") and exists(self, **k)
for name in ("sched_getaffinity", "pipe2", "epoll"):
    if hasattr(os, name):
        delattr(os, name)
"""
HEAD = "import faulthandler, os, select, signal, subprocess, sys\n"  # subprocess has a form of its own on Windows


def run(folder: Path, without: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command on a system without these."""
    program = f"{HEAD}{without}\nsys.argv[1:] = {list(arguments)}\nfrom graphlint import cli\ncli.main()"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "CUDA_VISIBLE_DEVICES": "", "GRAPHLINT_NO_CACHE": ""},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )


POSIX = pytest.mark.skipif(os.name == "nt", reason="what is taken away here is all that Windows has")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve" / "run.py").write_text(PROGRAM)
    (tmp_path / "target.py").write_text(TARGET)
    return tmp_path


@pytest.mark.parametrize("without", [pytest.param(WINDOWS, id="windows"), pytest.param(MACOS, id="macos", marks=POSIX)])
@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["check", "--no-cache"], 1, "error[GL101]"),
        (["check", "--project", ".", "serve/run.py"], 1, "error[GL101]"),
        (["check", "--write-baseline", "known.json"], 0, "1 finding is known"),
        (["check", "--region", "serve.run:main", "--region", "target:target"], 1, "3 regions"),
        (["init", "--dry-run"], 0, "[tool.graphlint]"),
        (["rule", "GL101"], 0, "# GL101 scalar-readback"),
        (["clean"], 0, "nothing is kept in"),
    ],
)
def test_what_needs_no_gpu_runs(project: Path, without: str, arguments: list[str], status: int, expected: str) -> None:
    """Without fork, in one process; the hook is `check --project .` with the files of a commit."""
    done = run(project, without, *arguments)
    assert (status, "") == (done.returncode, done.stderr)
    assert expected in done.stdout


def test_what_is_kept_is_read_back(project: Path) -> None:
    """On Windows as well."""
    for _ in range(2):
        assert 1 == run(project, WINDOWS, "check").returncode
    assert (project / ".graphlint_cache" / "CACHEDIR.TAG").is_file()


def test_paths_have_forward_slashes(project: Path) -> None:
    """In all that programs read, and that is kept in a repository."""
    check = ["check", "--no-cache"]
    (found,) = json.loads(run(project, WINDOWS, *check, "--format", "json").stdout)["findings"]
    assert ["serve/run.py"] * 2 == [found["path"], found["regions"][0]["path"]]
    (result,) = json.loads(run(project, WINDOWS, *check, "--format", "sarif").stdout)["runs"][0]["results"]
    assert "serve/run.py" == result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    run(project, WINDOWS, *check, "--write-baseline", "known.json")
    assert '"path": "serve/run.py"' in (project / "known.json").read_text()
    assert 0 == run(project, WINDOWS, *check, "--baseline", "known.json").returncode
    (project / "pyproject.toml").write_text('[tool.graphlint]\nexclude = ["serve/r*.py"]\n')
    assert 0 == run(project, WINDOWS, *check).returncode


def test_verify_without_fork_is_one_line(project: Path) -> None:
    """With the way out."""
    pytest.importorskip("torch")
    done = run(project, WINDOWS, "verify", "target.py:target")
    expected = "`verify` and the emulator need a system with `fork`: Linux, macOS, or WSL on Windows"
    assert (2, "", f"graphlint: error: {expected}\n") == (done.returncode, done.stdout, done.stderr)


@POSIX
def test_the_emulator_needs_no_numpy(project: Path) -> None:
    """PyTorch does not bring it, and says so by a warning."""
    pytest.importorskip("torch")
    (project / "numpy.py").write_text("raise ModuleNotFoundError('there is none', name='numpy')")
    target = TARGET.replace("torch.sin", "lambda x: x * x.max().item() + torch.rand(4).cuda()")
    (project / "target.py").write_text(target)
    without = f"sys.path.insert(0, {str(project)!r})"
    done = run(project, without, "verify", "target.py:target", "--format", "concise", "-q")
    assert ["GL101", "GL202"] == re.findall(r"\[(GL\d+)\]", done.stdout), done.stdout + done.stderr


@POSIX
def test_the_emulator_runs_on_macos(project: Path) -> None:
    """Where no process can be told to end with its parent, nor be asked for its children."""
    pytest.importorskip("torch")
    done = run(project, MACOS, "verify", "target.py:target", "--on", "emulator", "--format", "json")
    assert (0, "safe") == (done.returncode, json.loads(done.stdout)["targets"][0]["verdict"]), done.stderr


def test_the_plugin_loads_without_fork(project: Path) -> None:
    """It is in every session of pytest where graphlint is installed."""
    program = f"{HEAD}{WINDOWS}\nimport graphlint.testing.plugin, graphlint.testing.asserting"
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run([sys.executable, "-c", program], cwd=project, env=environment, check=True)
