"""The command in a process of its own: terminals, pipes, signals, encodings."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest
from signals import heed_signals

CHECKOUT = Path(__file__).resolve().parent.parent
STUB = """
import os, sys, time
from examples import finding, report
from graphlint import cli, static
def check(paths, config, rulebook, progress=None, memory=None):
    {body}
static.check = check
cli.main()
"""


def spawn(
    body: str, cwd: Path, *options: str, terminal: int | None = None, **environment: str
) -> subprocess.Popen[bytes]:
    """`graphlint check` of a folder with a file, with a static half of the given body."""
    (cwd / "serve.py").touch()
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    path = os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "tests")])
    output = subprocess.PIPE if terminal is None else terminal
    return subprocess.Popen(
        [sys.executable, "-c", STUB.format(body=body), "check", *options],
        cwd=cwd,
        env={**inherited, "TERM": "xterm", "PYTHONPATH": path, **environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        preexec_fn=heed_signals,
    )


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    """The stream, which is there."""
    assert stream is not None
    return stream


def on_terminal(body: str, cwd: Path, **environment: str) -> str:
    """What a terminal shows of a run."""
    master, slave = pty.openpty()
    process = spawn(body, cwd, terminal=slave, **environment)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the process is
        while chunk := os.read(master, 65536):
            shown += chunk
    process.wait(timeout=30)
    os.close(master)
    return shown.decode("utf-8")


def test_an_interrupt_is_status_130(tmp_path: Path) -> None:
    """Ctrl-C ends the run with one line."""
    process = spawn("print('ready', flush=True); time.sleep(60)", tmp_path)
    pipe(process.stdout).readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (130, b"", b"graphlint: interrupted") == (process.returncode, out, err.strip())


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """`graphlint check | head -1` prints no traceback."""
    process = spawn("return report(*[finding()] * 5000)", tmp_path)
    pipe(process.stdout).readline()
    pipe(process.stdout).close()
    with pipe(process.stderr) as stderr:
        assert b"" == stderr.read()
    assert 1 == process.wait(timeout=30)


@pytest.mark.parametrize("style", ["text", "json", "sarif", "github"])
def test_names_that_no_encoding_holds_are_printed(tmp_path: Path, style: str) -> None:
    """A terminal of plain ASCII and a path of odd bytes do not end the run."""
    body = r"return report(finding(path=os.fsdecode(b'gr\xf6\xdfe/\xe6\xa8\xa1.py'), message='größe'))"
    process = spawn(body, tmp_path, "--format", style, PYTHONIOENCODING="ascii:strict")
    out, err = process.communicate(timeout=30)
    assert (1, b"") == (process.returncode, err)
    assert b"gr" in out


@pytest.mark.parametrize(
    ("environment", "expected"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=["terminal", "declined", "dumb terminal"],
)
def test_colour_is_for_terminals(tmp_path: Path, environment: dict[str, str], expected: bool) -> None:
    """Unless the user declines it."""
    assert expected == ("\x1b[" in on_terminal("return report(finding())", tmp_path, **environment))


def test_progress_is_shown_when_a_run_lasts(tmp_path: Path) -> None:
    """A short run shows none."""
    long = "progress(1, 4); time.sleep(1.1); progress(2, 4); time.sleep(.2); progress(3, 4); return report()"
    assert re.search(r"checking .* 75%", on_terminal(long, tmp_path))
    assert "checking" not in on_terminal("progress(1, 4); progress(4, 4); return report()", tmp_path)


def test_progress_only_moves_forward(tmp_path: Path) -> None:
    """Where more work turns up than was known, the bar waits for it."""
    more = "time.sleep(1.1); progress(3, 4); time.sleep(.2); progress(3, 40); time.sleep(.2); progress(36, 40);"
    shown = on_terminal(f"progress(0, 4); {more} return report()", tmp_path)
    shares = [int(share) for share in re.findall(r"(\d+)%", shown)]
    assert sorted(shares) == shares and {75, 90} <= set(shares)


def test_progress_is_not_for_pipes(tmp_path: Path) -> None:
    """A log has no use for it."""
    process = spawn("assert progress is None; return report()", tmp_path)
    assert (b"", 0) == (process.communicate(timeout=30)[1], process.returncode)
