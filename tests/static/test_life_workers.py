"""Compiled callables that replay graphs, and the threads that call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

COMPILED = """
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import torch

LOCK = threading.Lock()
step = torch.compile(lambda x: torch.relu(x @ x), mode={mode})

def work(x):
    return step(x).clone(){mark}

def locked(x):
    with LOCK:
        return step(x).clone()

def other(x):
    return torch.relu(x)

class Server:
    def __init__(self, net):
        self.net = torch.compile(net, mode={mode})

    def _generate(self, x):
        return self.net(x).clone()  # inside

    def serve(self, x):
        return self._generate(x)

def main(net, xs):
    step(xs[0])
    {threads}
"""
MAPPED = "with ThreadPoolExecutor({}) as pool: return list(pool.map({}, xs))"
STARTED = """threads = [threading.Thread(target={}, args=(x,)) for x in xs]
    for one in threads: one.start()
    for one in threads: one.join()"""
IN_TURN = """for x in xs:
        thread = threading.Thread(target=work, args=(x,)); thread.start(); thread.join()"""
HANDED = """server, pool = Server(net), ThreadPoolExecutor()
    tasks = [pool.submit(run, server, x) for x in xs]
    return [task.result() for task in tasks]

def run(server, x):
    return server.serve(x)"""
AWAITED = """pool = ThreadPoolExecutor(4)
    for x in xs: pool.submit(work, x).result()"""


def _lines(folder: Path, threads: str, mode: str = '"reduce-overhead"') -> list[int]:
    text = COMPILED.format(mode=mode, threads=threads, mark="  # called")
    return [line for _, line, code in analyse(folder, text).shown if code == "GL607"]


def _line(mark: str, threads: str = "") -> int:
    text = COMPILED.format(mode='"reduce-overhead"', threads=threads, mark="  # called")
    return next(number for number, line in enumerate(text.splitlines(), 1) if mark in line)


@pytest.mark.parametrize(
    ("threads", "mark"),
    [
        pytest.param(MAPPED.format("4", "work"), "# called", id="four workers map"),
        pytest.param(MAPPED.format("len(xs)", "work"), "# called", id="workers that nobody counted"),
        pytest.param(MAPPED.format("4", "step"), "pool.map", id="what was compiled is mapped itself"),
        pytest.param(MAPPED.format("4", "Server(net).serve"), "# inside", id="a method leads to it"),
        pytest.param(STARTED.format("work"), "# called", id="threads that are started one by one"),
        pytest.param(HANDED, "# inside", id="an object is handed to what the threads run"),
    ],
)
def test_compiled_callable_is_called_in_several_threads(tmp_path: Path, threads: str, mark: str) -> None:
    """The finding stands on the call that the threads run."""
    assert _lines(tmp_path, threads) == [_line(mark, threads)]


@pytest.mark.parametrize(
    ("threads", "mode"),
    [
        pytest.param(MAPPED.format("1", "work"), '"reduce-overhead"', id="one worker"),
        pytest.param(MAPPED.format("max_workers=1", "work"), '"reduce-overhead"', id="one worker, by its name"),
        pytest.param(MAPPED.format("4", "work"), '"default"', id="no graphs"),
        pytest.param(MAPPED.format("4", "other"), '"reduce-overhead"', id="threads call something else"),
        pytest.param(MAPPED.format("4", "work").replace("Thread", "Process"), '"reduce-overhead"', id="processes"),
        pytest.param(IN_TURN, '"reduce-overhead"', id="one thread after the other"),
        pytest.param(AWAITED, '"reduce-overhead"', id="each answer is waited for"),
        pytest.param(MAPPED.format("4", "locked"), '"reduce-overhead"', id="a lock around the call"),
        pytest.param("return [work(x) for x in xs]", '"reduce-overhead"', id="no threads"),
    ],
)
def test_calls_of_one_thread_at_a_time_are_silent(tmp_path: Path, threads: str, mode: str) -> None:
    """Nobody records or replays beside another thread."""
    assert _lines(tmp_path, threads, mode) == []
