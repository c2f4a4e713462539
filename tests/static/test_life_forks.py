"""Whether a side stream of a program waits for what the default stream has written, before it warms up."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import torch

net = torch.nn.Linear(4, 4).cuda()
x = torch.randn(2, 4, device="cuda")
side = torch.cuda.Stream()
{before}
with torch.cuda.stream(side):{mark}
    for _ in range(3):
        net({read})
{behind}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = net(x)
x.normal_()
graph.replay()
print(y.sum().item())
"""
JOINED = "torch.cuda.current_stream().wait_stream(side)"
SILENT = {
    "it waits for the stream": ("side.wait_stream(torch.cuda.current_stream())", "x", JOINED),
    "it waits for an event": ("side.wait_event(torch.cuda.current_stream().record_event())", "x", JOINED),
    "the host waits": ("torch.cuda.synchronize()", "x", JOINED),
    "it reads what it has written": ("pass", 'torch.ones(2, 4, device="cuda")', JOINED),
    "nobody joins it": ("pass", "x", "torch.cuda.synchronize()"),
}


def test_a_warm_up_that_is_joined_and_has_not_waited_reads_too_early(tmp_path: Path) -> None:
    """What makes its input may still run on the default stream."""
    analysis = analyse(tmp_path, PROGRAM.format(before="pass", read="x", behind=JOINED, mark="  # expect: GL602"))
    assert analysis.expected == analysis.shown


@pytest.mark.parametrize("name", SILENT)
def test_a_warm_up_that_comes_after_what_it_reads_is_silent(tmp_path: Path, name: str) -> None:
    before, read, behind = SILENT[name]
    analysis = analyse(tmp_path, PROGRAM.format(before=before, read=read, behind=behind, mark=""))
    assert [] == [one for one in analysis.shown if one[2] == "GL602"]
