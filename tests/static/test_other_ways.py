"""A variable that has a value of its own for each capture, or is written on a way that the capture never goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SERVER = """
import torch

def serve(requests, x, w):
    graphs = {{}}
    while True:
        kind, key = requests.get()
        if kind == "capture":
            {anew}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = w[:n] * x{mark}
            graphs[key] = graph
        elif kind == "fill":
            n = 8
            x[:n].fill_(0.0)
        else:
            {before}
            graphs[key].replay()
"""


@pytest.mark.parametrize(
    ("anew", "before", "mark"),
    [
        ("n = key + 1", "pass", ""),
        ("try:\n                n = key + 1\n            except ValueError:\n                raise", "pass", ""),
        ("pass", "n = key", "  # expect: GL402"),
        ("n = key + 1", "n = key", "  # expect: GL402"),
    ],
    ids=["each capture computes it", "in a block of its own", "only a replay does", "both do"],
)
def test_a_variable_that_each_capture_computes_anew_is_none_that_changes_under_a_graph(
    tmp_path: Path, anew: str, before: str, mark: str
) -> None:
    analysis = analyse(tmp_path, SERVER.format(anew=anew, before=before, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL402"]


BENCH = """
import torch

def bench(w, x, is_split):
    if is_split:
        for start, end in ((0, 4), (4, 8)):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = w[start:end] * x{mark}
            {inside}
            graph.replay()
        {leave}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = w * x
    for _ in range(10):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
"""


@pytest.mark.parametrize(
    ("inside", "leave", "mark"),
    [("pass", "return y", ""), ("end = x.shape[0] - 1", "return y", "  # expect: GL402")],
    ids=["behind a return, and in the head of the loop", "before the replay"],
)
def test_what_stands_behind_a_return_is_not_written_after_the_capture_before_it(
    tmp_path: Path, inside: str, leave: str, mark: str
) -> None:
    analysis = analyse(tmp_path, BENCH.format(inside=inside, leave=leave, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL402"]
