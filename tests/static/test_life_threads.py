"""What other threads may do while a capture is under way."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import queue
import threading
import time
from concurrent.futures import ThreadPoolExecutor
import torch

model, stop, work = torch.nn.ReLU().cuda(), threading.Event(), queue.Queue()
x = torch.ones(4, device="cuda")

def feed():
    while not stop.wait(0.1):
        work.put(torch.randn(4).cuda()){mark}

def gather():
    while not stop.wait(0.1):
        work.put(torch.randn(4).to("cpu", torch.float16))

def save():
    print(x.cpu()){mark}

def watch():
    while not stop.wait(0.1):
        print(x.cpu()){mark}

def load():
    for row in model.rows():
        work.put(row.cuda()){mark}

def load_all():
    rows = [row.cuda() for row in model.rows()]
    for row in rows:
        print(row.shape)

def serve():
    while True:
        work.get()
        print(x.cpu())

{before}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph{mode}):
    y = model(x)
{behind}
"""
TOLD = {
    "a thread looks all the time": ("thread = threading.Thread(target=watch); thread.start()", "", "thread.join()"),
    "a thread uploads all the time": ("thread = threading.Thread(target=feed); thread.start()", "", "thread.join()"),
    "a thread hands over what it loads": (
        "thread = threading.Thread(target=load); thread.start()",
        "",
        "thread.join()",
    ),
    "an executor has work": ("future = ThreadPoolExecutor(1).submit(save)", "", "future.result()"),
}
SILENT = {
    "the thread has ended": ("t = threading.Thread(target=watch); t.start(); stop.set(); t.join()", "", ""),
    "the work is done": ("ThreadPoolExecutor(1).submit(save).result()", "", ""),
    "the thread comes to its end": ("threading.Thread(target=load_all).start()", "", ""),
    "the thread stays on the host": ("threading.Thread(target=gather).start()", "", ""),
    "the thread starts later": ("pass", "", "threading.Thread(target=watch).start()"),
    "the capture minds its own thread": (
        "threading.Thread(target=watch).start()",
        ', capture_error_mode="thread_local"',
        "",
    ),
    "the thread waits for work": ("threading.Thread(target=serve).start()", "", ""),
    "the executor has ended": ("with ThreadPoolExecutor(1) as pool: pool.submit(save)", "", ""),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_thread_that_reads_the_device_during_a_capture_is_told(tmp_path: Path, name: str) -> None:
    before, mode, behind = TOLD[name]
    analysis = analyse(tmp_path, PROGRAM.format(before=before, mode=mode, behind=behind, mark="  # expect: GL607"))
    shown = [place for place in analysis.shown if place[2] == "GL607"]
    assert len(shown) == 1
    assert set(shown) <= set(analysis.expected)


@pytest.mark.parametrize("name", SILENT)
def test_a_thread_that_does_not_run_during_a_capture_is_silent(tmp_path: Path, name: str) -> None:
    before, mode, behind = SILENT[name]
    shown = analyse(tmp_path, PROGRAM.format(before=before, mode=mode, behind=behind, mark="")).shown
    assert all(code != "GL607" for _, _, code in shown)
