"""Handles of collectives, pinned memory, and what models go through before they are captured."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

GATHERED = """
import torch
import torch.distributed as dist

def gathered(xs, group, stream, late):
    out, handles = torch.empty_like(xs), {{}}
    if late:
        handles["out"] = dist.all_gather_into_tensor(out, xs, group=group, async_op=True){mark}
    {waited}
    return out

def run(xs, group, stream, late):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ys = gathered(xs, group, stream, late)
    return graph, ys
"""


@pytest.mark.parametrize(
    ("waited", "mark"),
    [
        ("pass", "  # expect: GL601"),
        ("torch.cuda.current_stream().wait_stream(stream)", "  # expect: GL601"),
        ("for handle in (handles.pop(name) for name in late):\n        handle.wait()", ""),
        ("if late > 1:\n        handles['out'].wait()", ""),
    ],
    ids=["by nobody", "for a stream", "in a loop", "under a condition"],
)
def test_a_handle_that_another_way_waits_for(tmp_path: Path, waited: str, mark: str) -> None:
    """Where a condition decides, the run that is rehearsed is not all that there is."""
    analysis = analyse(tmp_path, GATHERED.format(waited=waited, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL601"]


@pytest.mark.parametrize(
    ("target", "is_told"),
    [
        ("self.pinned[: x.numel()].view(x.shape)", False),
        ("self.each[self.at][: x.numel()].view(x.shape)", False),
        ("self.plain[: x.numel()].view(x.shape)", True),
        ("(self.pinned[: x.numel()] * 2).view(x.shape)", True),
        ("self.pinned.view(4, -1).t()", True),
    ],
    ids=["pinned", "one of several", "not pinned", "computed", "turned"],
)
def test_a_view_of_pinned_memory_is_pinned(tmp_path: Path, target: str, is_told: bool) -> None:
    """A copy to it waits for nothing, and a graph holds it; one that is turned is copied by pieces, which waits."""
    program = f"""
import torch

class Store(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.pinned, self.plain, self.at = torch.empty(size, pin_memory=True), torch.empty(size), 0
        self.each = [torch.empty(size, pin_memory=True) for _ in range(4)]

    def forward(self, x: torch.Tensor):
        {target}.copy_(x, non_blocking=True)
        return x
"""
    shown = analyse(tmp_path, program, regions=("main:Store.forward",)).shown
    assert is_told is ("GL201" in {code for _, _, code in shown})


@pytest.mark.parametrize(("name", "is_told"), [("prune_heads", False), ("use_heads", True)])
def test_a_model_is_pruned_before_it_is_captured(tmp_path: Path, name: str, is_told: bool) -> None:
    """What prunes takes parameters away, which no graph outlives."""
    program = f"""
import torch

class Attention(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.heads = int(heads)

    def {name}(self, number):
        self.heads = self.heads - number

    def forward(self, x: torch.Tensor):
        return torch.mul(x, self.heads)

class Model(torch.nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.attention = Attention(heads)

    def without(self, number):
        self.attention.{name}(number)

    def forward(self, x: torch.Tensor):
        return self.attention(x)

def serve(x):
    model = Model(8)
    model(x)
    model.without(2)
    return model(x)
"""
    shown = analyse(tmp_path, program, regions=("main:Model.forward",)).shown
    assert is_told is ("GL402" in {code for _, _, code in shown})


SEAM = """
import torch

class {name}:
    def __init__(self):
        self.held = []

    def apply(self, x):
        self.held.append(x.max().item())
        return x

class Layer(torch.nn.Module):
    def __init__(self, seam: {name} | None):
        super().__init__()
        self.seam = seam

    def forward(self, x: torch.Tensor):
        return self.seam.apply(x) if self.seam is not None else x
"""


@pytest.mark.parametrize(("name", "is_told"), [("CalibrationSeam", False), ("RangeObserver", False), ("Seam", True)])
def test_what_is_named_for_calibration_runs_eagerly(tmp_path: Path, name: str, is_told: bool) -> None:
    """It measures what a model is quantised by, before anybody captures it."""
    shown = analyse(tmp_path, SEAM.format(name=name), regions=("main:Layer.forward",)).shown
    assert is_told is ("GL101" in {code for _, _, code in shown})
    declared = SEAM.format(name=name).replace("def apply(self, x)", "def apply(self, x: torch.Tensor)")
    shown = analyse(tmp_path / "itself", declared, regions=(f"main:{name}.apply",)).shown
    assert "GL101" in {code for _, _, code in shown}
