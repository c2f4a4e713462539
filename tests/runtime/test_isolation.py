"""Work in a process of its own: what it sends arrives, however it ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from graphlint.runtime.session import isolation
from graphlint.runtime.session.guard import Ending
from graphlint.runtime.session.isolation import run_isolated, server

Send = Callable[[Any], None]
LONG = 60.0  # seconds; none of the work comes near it


@pytest.fixture(scope="module")
def context() -> Any:
    return server()


def ended(context: Any, work: Callable[[Send], None], deadline: float = LONG) -> tuple[Ending, list[Any]]:
    """How the work ended, and what it sent."""
    heard: list[Any] = []
    return run_isolated(context, work, deadline, heard.append), heard


def sends(send: Send) -> None:
    for number in range(3):
        send(number)
    send({"process": os.getpid()})


def aborts(send: Send) -> None:
    send("before")
    os.abort()


def leaves(send: Send) -> None:
    send("before")
    os._exit(3)


def exits(send: Send) -> None:
    send("before")
    raise SystemExit(4)


def raises(send: Send) -> None:
    send("before")
    raise LookupError("nothing there")


def segfaults(send: Send) -> None:
    send("before")
    ctypes.string_at(0)


def hangs(send: Send) -> None:
    send("before")
    while True:
        time.sleep(0.01)


def hangs_deaf(send: Send) -> None:
    """It does not say where it is, and a polite signal does not end it."""
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    send("before")
    while True:
        time.sleep(0.01)


def hangs_brittle(send: Send) -> None:
    """The question where it is ends it."""
    signal.signal(signal.SIGUSR2, lambda *_: os.abort())
    hangs(send)


def prints(send: Send) -> None:
    print("printed by the target")
    subprocess.run([sys.executable, "-c", "print('printed by its child')"], check=True)
    send("done")


def asks_for_modules(send: Send) -> None:
    anew = "import sys; sys.modules.pop('keyword', None); import keyword"  # packages may load it as Python starts
    child = subprocess.run([sys.executable, "-c", anew], capture_output=True, text=True)
    send((os.environ.get("PYTHONSAFEPATH"), child.stderr.splitlines()[-1:]))


def asks_how_processes_start(send: Send) -> None:
    send(multiprocessing.get_start_method())


def leaves_a_child(send: Send) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    send(child.pid)


def crashes_beside_a_fork(send: Send) -> None:
    """The fork holds the connection open."""
    fork = os.fork()
    if not fork:
        time.sleep(600)
    send(fork)
    os.abort()


def hangs_with_a_child(send: Send) -> None:
    leaves_a_child(send)
    hangs(send)


def sends_what_cannot_be_sent(send: Send) -> None:
    send("before")
    send(lambda: None)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little time between the deadline and the end."""
    monkeypatch.setattr(isolation, "GRACE", 0.5)


def test_files_beside_a_target_hide_no_module_of_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hide it from what the target starts itself, as they do without us."""
    (tmp_path / "keyword.py").write_text("raise LookupError('beside the target')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    text = f"from {Path(__file__).stem} import *; print(ended(server(), asks_for_modules))"
    path = [str(Path(__file__).parent), *sys.path[1:]]
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {path}; {text}"], capture_output=True, text=True
    )
    assert "[(None, ['LookupError: beside the target'])]" in done.stdout, done.stderr


def test_processes_of_a_target_start_as_they_would_without_us(context: Any) -> None:
    """A choice of ours would be told of semaphores that the target leaves, and fork no workers of a data loader."""
    plain = subprocess.run(
        [sys.executable, "-c", "import multiprocessing; print(multiprocessing.get_start_method())"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert [plain.stdout.strip()] == ended(context, asks_how_processes_start)[1]


def test_what_the_work_sends_is_heard_in_order(context: Any) -> None:
    """And it is done in another process."""
    ending, heard = ended(context, sends)
    assert Ending() == ending
    assert [0, 1, 2] == heard[:-1]
    assert os.getpid() != heard[-1]["process"]


@pytest.mark.parametrize(
    ("work", "how"),
    [
        (aborts, "its process was ended by SIGABRT"),
        (segfaults, "its process was ended by SIGSEGV"),
        (leaves, "its process ended with status 3"),
        (exits, "its process ended with status 4"),
        (raises, "its process ended with status 1"),
        (sends_what_cannot_be_sent, "its process ended with status 1"),
    ],
)
def test_what_was_sent_before_a_crash_is_heard(context: Any, work: Callable[[Send], None], how: str) -> None:
    """The end is told, and the next work finds a process as if nothing had been."""
    ending, heard = ended(context, work)
    assert (how, ["before"]) == (ending.how, heard)
    assert Ending() == ended(context, sends)[0]


@pytest.mark.parametrize("work", [aborts, segfaults])
def test_a_crash_is_told_with_the_lines_where_it_was(context: Any, work: Callable[[Send], None]) -> None:
    """The innermost first; those of this file among them."""
    ending, _ = ended(context, work)
    assert work.__name__ in [function for path, _, function in ending.frames if path == __file__]


@pytest.mark.usefixtures("brief")
def test_work_that_hangs_is_ended_and_tells_where_it_was(context: Any) -> None:
    """At its deadline; what it sent before is heard."""
    ending, heard = ended(context, hangs, deadline=3.0)
    assert ("it was not done after 3 seconds", ["before"]) == (ending.how, heard)
    assert "hangs" in [function for path, _, function in ending.frames if path == __file__]
    assert Ending() == ended(context, sends)[0]


@pytest.mark.usefixtures("brief")
def test_work_that_cannot_be_asked_is_ended_all_the_same(context: Any) -> None:
    """Its lines are not known then."""
    ending, heard = ended(context, hangs_deaf, deadline=1.0)
    assert (Ending("it was not done after 1 seconds"), ["before"]) == (ending, heard)


@pytest.mark.usefixtures("brief")
def test_work_that_dies_when_it_is_asked_was_late(context: Any) -> None:
    """It would not have ended otherwise."""
    ending, heard = ended(context, hangs_brittle, deadline=1.0)
    assert ("it was not done after 1 seconds", ["before"]) == (ending.how, heard)


def test_what_the_work_prints_goes_to_stderr() -> None:
    """Also what its children print: stdout is the report's."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_isolation import LONG, prints\n"
        "from graphlint.runtime.session.isolation import run_isolated, server\n"
        "if __name__ == '__main__':\n"
        "    print(run_isolated(server(), prints, LONG, lambda message: None).how or 'well')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(Path(__file__).parent)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert "well\n" == done.stdout, done.stderr
    assert {"printed by the target", "printed by its child"} <= set(done.stderr.splitlines())


def is_alive(process: int) -> bool:
    """A process that nobody has waited for yet does not live."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    ("work", "deadline", "how"),
    [
        (leaves_a_child, LONG, ""),
        (crashes_beside_a_fork, LONG, "its process was ended by SIGABRT"),
        (hangs_with_a_child, 1.0, "it was not done after 1 seconds"),
    ],
)
def test_a_child_that_the_work_leaves_ends_with_it(
    context: Any, work: Callable[[Send], None], deadline: float, how: str
) -> None:
    """Whether the work is done or not; it does not keep the run from ending."""
    ending, heard = ended(context, work, deadline)
    assert how == ending.how
    assert is_alive(os.getpid())
    for _ in range(500):
        if not is_alive(heard[0]):
            break
        time.sleep(0.01)
    assert not is_alive(heard[0])
