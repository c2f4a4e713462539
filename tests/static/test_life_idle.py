"""Buffers that are made for graphs alone, and that nothing fills."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import Analysis, analyse

BUILDER = """
# file: builder.py
import torch
import attention

class Metadata:
    def __init__(self, schedule, num_splits):
        self.schedule, self.num_splits = schedule, num_splits

class Builder:
    def __init__(self, config, device):
        self.static_num_splits = None
        self.device = device
        if {asked}:
            self.static_num_splits = torch.zeros(config.max_seqs + 1, dtype=torch.int32, device=device)

    def build(self, lengths):
        schedule, num_splits = attention.plan(lengths)
{body}
        return metadata

# file: serve.py
import torch

def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, x, y
"""
MARK = "  # expect: GL508"


def of(folder: Path, *body: str, asked: str = "config.mode.has_full_cudagraphs()") -> Analysis:
    lines = "\n".join(f"        {line}" for line in body)
    return analyse(folder, BUILDER.format(asked=asked, body=lines))


@pytest.mark.parametrize("asked", ["config.mode.has_full_cudagraphs()", "config.use_cuda_graph", "use_graph"])
@pytest.mark.parametrize(
    "body",
    [
        ("metadata = Metadata(schedule, None)", "metadata.num_splits = num_splits" + MARK),
        ("metadata = Metadata(schedule, num_splits=num_splits)" + MARK,),
    ],
    ids=["an attribute", "a keyword"],
)
def test_a_fresh_tensor_goes_where_the_buffer_should(tmp_path: Path, body: tuple[str, ...], asked: str) -> None:
    analysis = of(tmp_path, *body, asked=asked)
    assert analysis.shown == analysis.expected
    assert "`static_num_splits`" in analysis.finding.message


@pytest.mark.parametrize(
    "body",
    [
        (
            "self.static_num_splits.copy_(num_splits)",
            "metadata = Metadata(schedule, num_splits=self.static_num_splits)",
        ),
        (
            "self.static_num_splits[: len(num_splits)] = num_splits",
            "metadata = Metadata(schedule, num_splits=num_splits)",
        ),
        (
            "metadata = Metadata(schedule, num_splits=num_splits)",
            "getattr(self, 'static_num_splits').copy_(num_splits)",
        ),
        ("metadata = Metadata(schedule, ranges=num_splits)",),
        ("metadata = Metadata(schedule, num_splits=lengths)",),
    ],
    ids=["it is filled", "it may be filled", "by its name", "another name", "what the caller gives"],
)
def test_what_is_used_or_speaks_of_something_else(tmp_path: Path, body: tuple[str, ...]) -> None:
    assert of(tmp_path, *body).found == []


def test_a_buffer_that_is_made_for_something_else(tmp_path: Path) -> None:
    assert of(tmp_path, "metadata = Metadata(schedule, num_splits=num_splits)", asked="config.is_sparse").found == []
