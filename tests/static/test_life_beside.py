"""Graphs that several threads replay at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SERVER = """
import threading
from concurrent.futures import ThreadPoolExecutor
import torch

def alone(method):
    lock = threading.Lock()
    def called(self, x):
        with lock:
            method(self, x)
    return called

class Server:
    def __init__(self, net):
        self.lock, self.left = threading.Lock(), {{}}
        self.x = torch.zeros(4, 4, device="cuda")
        net(self.x); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = net(self.x)

    def _replay(self, x):
        {filled}
        self.graph.replay(){mark}
        return self.y.clone()

    {decorator}
    def serve(self, x):
        stream = torch.cuda.Stream()
        with {manager}:
            self.left[x] = self._replay(x)

def main(net, xs):
    server = Server(net)
    {threads}
"""
FILLED = "self.x.copy_(x)"
STREAM = "torch.cuda.stream(stream)"
STARTED = """threads = [threading.Thread(target=server.serve, args=(x,)) for x in xs]
    for one in threads: one.start()
    for one in threads: one.join()"""
IN_TURN = """for x in xs:
        thread = threading.Thread(target=server.serve, args=(x,)); thread.start(); thread.join()"""
EACH = """for x in xs:
        threading.Thread(target=Server(net).serve, args=(x,)).start()"""
ONE = "threading.Thread(target=server.serve, args=(xs[0],)).start()"


@pytest.mark.parametrize(
    ("threads", "filled", "manager", "is_told"),
    [
        (STARTED, FILLED, STREAM, True),
        ("for x in xs: threading.Thread(target=server.serve, args=(x,)).start()", FILLED, STREAM, True),
        ("with ThreadPoolExecutor() as pool: list(pool.map(server.serve, xs))", FILLED, "torch.no_grad()", True),
        ("pool = ThreadPoolExecutor(4); [pool.submit(server.serve, x) for x in xs]", FILLED, STREAM, True),
        (STARTED, FILLED, "self.lock", False),
        (STARTED, FILLED, f"self.lock, {STREAM}", False),
        (STARTED, "self.lock.acquire(); self.x.copy_(x)", STREAM, False),
        (STARTED, "pass", STREAM, False),
        (IN_TURN, FILLED, STREAM, False),
        (EACH, FILLED, STREAM, False),
        (ONE, FILLED, STREAM, False),
        ("with ThreadPoolExecutor(1) as pool: list(pool.map(server.serve, xs))", FILLED, STREAM, False),
        ("pool = ThreadPoolExecutor(4); [pool.submit(server.serve, x).result() for x in xs]", FILLED, STREAM, False),
    ],
    ids=[
        *("threads", "in a loop", "mapped", "submitted", "a lock", "a lock and a stream", "acquired", "nothing filled"),
        *("in turn", "a graph each", "one thread", "one worker", "waited for"),
    ],
)
def test_threads_that_replay_one_graph_wait_for_each_other(
    tmp_path: Path, threads: str, filled: str, manager: str, is_told: bool
) -> None:
    """Else one fills the input of a graph, or has its output overwritten, while another one is not done."""
    mark = "  # expect: GL510" if is_told else ""
    given = {"threads": threads, "filled": filled, "manager": manager, "mark": mark, "decorator": ""}
    analysis = analyse(tmp_path, SERVER.format(**given))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


@pytest.mark.parametrize(("decorator", "is_told"), [("@torch.no_grad()", True), ("@alone", False)])
def test_a_decorator_may_let_one_thread_in_at_a_time(tmp_path: Path, decorator: str, is_told: bool) -> None:
    """Those of torch do not."""
    mark = "  # expect: GL510" if is_told else ""
    given = {"threads": STARTED, "filled": FILLED, "manager": STREAM, "mark": mark, "decorator": decorator}
    analysis = analyse(tmp_path, SERVER.format(**given))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]
