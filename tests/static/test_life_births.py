"""What keeps state from its first call on, where that call is the captured one."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SCRIPT = """
import functools
import torch
from torch import nn

net = {net}.cuda()
optimizer = torch.optim.{optimizer}
scaler = torch.amp.GradScaler("cuda")

@functools.cache
def table(n):
    return torch.arange(n, device="cuda")

def work(x):
    {work}

def main():
    x = torch.zeros(8, 4, device="cuda")
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work(x)
    graph.replay()

main()
"""
LINEAR, ADAM = "nn.Linear(4, 4)", "Adam(net.parameters(), lr=torch.tensor(0.1, device='cuda'), capturable=True)"
WORK = {
    "moments": (LINEAR, ADAM, "optimizer.step()", "GL702"),
    "momentum": (LINEAR, "SGD(net.parameters(), lr=0.1, momentum=0.9)", "optimizer.step()", "GL702"),
    "no momentum": (LINEAR, "SGD(net.parameters(), lr=0.1)", "optimizer.step()", None),
    "a scale": (LINEAR, ADAM, "return scaler.scale(net(x).sum())", "GL702"),
    "a lazy layer": ("nn.LazyLinear(4)", ADAM, "return net(x)", "GL702"),
    "a layer": (LINEAR, ADAM, "return net(x)", None),
    "a cache": (LINEAR, ADAM, "return x + table(4)", "GL501"),
}
SILENT = {
    "called before": "work(x)",
    "perhaps called before": "if input():\n        work(x)",
    "called before by a loop": "for _ in range(3):\n        work(x)",
}


@pytest.mark.parametrize(("net", "optimizer", "work", "code"), WORK.values(), ids=WORK)
@pytest.mark.parametrize("before", ["pass", *SILENT.values()], ids=["never called before", *SILENT])
def test_the_first_call_is_the_captured_one(
    tmp_path: Path, net: str, optimizer: str, work: str, code: str | None, before: str
) -> None:
    """Replay makes the first value of the state again and again."""
    mark = f"  # expect: {code}" if code and before == "pass" else ""
    program = SCRIPT.format(net=net, optimizer=optimizer, work=work + mark, before=before)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL702", "GL501")]


@pytest.mark.parametrize(
    ("restored", "mark"), [("optimizer.load_state_dict(saved)", ""), ("pass", "  # expect: GL702")]
)
def test_state_that_is_loaded_is_there(tmp_path: Path, restored: str, mark: str) -> None:
    """It is that of an earlier run."""
    program = SCRIPT.format(net=LINEAR, optimizer=ADAM, work=f"optimizer.step(){mark}", before=restored)
    analysis = analyse(tmp_path, f"saved = dict()\n{program}")
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL702"]
