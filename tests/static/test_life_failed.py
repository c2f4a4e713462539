"""What is left of a capture that fails: captures that stay open, and settings that nobody puts back."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

BY_HAND = """
import torch

def stop(graph):
    graph.capture_end()

def capture(fn, x):
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        graph.capture_begin()
        try:
            y = fn(x)
        {handler}
        graph.capture_end()
    torch.cuda.current_stream().wait_stream(stream)
    return graph, y
"""


@pytest.mark.parametrize(
    "handler",
    [
        "except ValueError:\n            return None  # expect: GL606",
        "except ValueError:\n            graph.capture_end()\n            return None",
        "except ValueError:\n            stop(graph)\n            return None",
        "finally:\n            print('captured')",
    ],
)
def test_a_handler_that_returns_before_the_end_of_a_capture_leaves_it_open(tmp_path: Path, handler: str) -> None:
    analysis = analyse(tmp_path, BY_HAND.format(handler=handler))
    assert analysis.shown == analysis.expected


COLLECTOR = """
import gc
from contextlib import contextmanager
import torch

@contextmanager
def frozen():
    gc.disable(){mark}
{body}

class Runner:
    def __init__(self, fn, x):
        self.fn, self.x = fn, x

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with frozen(), torch.cuda.graph(self.graph):
            self.y = self.fn(self.x)

runner = Runner(torch.relu, torch.ones(4, device="cuda"))
runner.capture()
runner.graph.replay()
"""
YIELDS = {
    "    yield\n    gc.enable()": "  # expect: GL902",
    "    try:\n        yield\n    finally:\n        gc.enable()": "",
}


@pytest.mark.parametrize("body", YIELDS)
def test_a_context_manager_around_a_capture_puts_back_what_it_sets_in_a_finally(tmp_path: Path, body: str) -> None:
    analysis = analyse(tmp_path, COLLECTOR.format(body=body, mark=YIELDS[body]))
    assert analysis.shown == analysis.expected
