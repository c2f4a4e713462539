"""Nothing that a target has started outlives the command that looks at it, however that command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from signals import heed_signals

pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")

TARGET = """
import os, subprocess, sys, time

sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
children = [subprocess.Popen(sleeper), subprocess.Popen(sleeper, start_new_session=True)]
pids = [os.getpid(), os.getppid(), *(one.pid for one in children)]
with open(sys.argv[0] + ".part", "w") as file:
    file.write(" ".join(map(str, pids)))
os.rename(sys.argv[0] + ".part", sys.argv[0] + ".pids")
while True:
    time.sleep(0.01)
"""


def is_alive(process: int) -> bool:
    """A process that nobody has waited for yet does not live."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it goes while it is asked for
        return False


def settled(processes: list[int]) -> list[int]:
    """Those that still live after a while."""
    for _ in range(200):
        if not any(map(is_alive, processes)):
            break
        time.sleep(0.01)
    return [one for one in processes if is_alive(one)]


def started(folder: Path, *options: str) -> tuple[subprocess.Popen[bytes], list[int]]:
    """The command, and the processes of its target, the one that guards it, and the children of the target."""
    program, said = folder / "program.py", folder / "program.py.pids"
    program.write_text(TARGET)
    command = subprocess.Popen(
        [sys.executable, "-m", "graphlint", "verify", "--on", "emulator", *options, str(program)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    )
    while command.poll() is None and not said.exists():
        time.sleep(0.01)
    return command, [int(one) for one in said.read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_whatever_ends_the_command_ends_all_that_its_targets_have_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Children in sessions of their own as well; no file of it is left where it can still clean up."""
    command, processes = started(tmp_path)
    assert all(map(is_alive, processes))
    command.send_signal(number)
    command.communicate(timeout=60)
    assert settled(processes) == []
    if number is not signal.SIGKILL:
        assert sorted(one.name for one in tmp_path.iterdir()) == ["program.py", "program.py.pids"]


def test_a_target_has_a_deadline_also_where_nobody_waits_for_it(tmp_path: Path) -> None:
    """A command that was stopped hears of nothing, and its target ends all the same."""
    command, processes = started(tmp_path, "--deadline", "1")
    command.send_signal(signal.SIGSTOP)
    try:
        target, guard, *children = processes
        while is_alive(target):
            time.sleep(0.01)
        assert settled(children) == []
    finally:
        command.send_signal(signal.SIGCONT)
    out, _ = command.communicate(timeout=60)
    assert b"it was not done after 1 seconds" in out and command.returncode == 1
    assert settled([guard]) == []
