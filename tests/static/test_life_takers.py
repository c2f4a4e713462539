"""What a model was run with before its capture: it takes its inputs and lets them go; other calls may keep them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import torch

class Runner:
    def __init__(self, model, table):
        self.model, self.table = model, table
        self.x = torch.zeros(4, 8, device="cuda")

    def capture(self):
        made = {made}
        {before}
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x, made){mark}
        {behind}

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
WARM = "self.model(self.x, made)"
FREED = "torch.ones(4, 8, device='cuda')"
DERIVED = "self.x > 0"


@pytest.mark.parametrize(
    ("made", "before", "behind", "mark"),
    [
        (FREED, WARM, "pass", "  # expect: GL507"),
        (FREED, f"{WARM}; self.table.register(made)", "pass", ""),
        (FREED, f"{WARM}; self.model.keep(made)", "pass", ""),
        (FREED, WARM, "self.made = made", ""),
        (FREED, WARM, "if self.table.keeps: self.made = made", ""),
        (f"{DERIVED}  # expect: GL512", WARM, "self.made = made", ""),
        (DERIVED, f"{WARM}; self.table.register(made)", "self.made = made", ""),
        ("self.x.clone()", WARM, "self.made = made", ""),
    ],
    ids=[
        "let go",
        "kept",
        "kept by the model",
        "held",
        "held on a way",
        "derived",
        "filled by another",
        "an old value",
    ],
)
def test_a_model_that_is_warmed_up_keeps_no_input(
    tmp_path: Path, made: str, before: str, behind: str, mark: str
) -> None:
    """What the region runs as well says nothing of whose tensor it is; any other call may have kept it or fill it."""
    analysis = analyse(tmp_path, RUNNER.format(made=made, before=before, behind=behind, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL507", "GL512")]


LONG = """
import torch

class Runner:
    def __init__(self):
        self.capture()

    def capture(self):
        x = torch.zeros(4, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = x * 2
        {long}
        self.inputs = dict(x=x)

    def run(self, x):
        self.inputs["x"].copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


def test_a_run_that_is_given_up_lets_nothing_go(tmp_path: Path) -> None:
    """What a function does behind the place where its run ends is not known."""
    steps = "; ".join(["_ = [len(str(a)) for a in (1, 2, 3, 4) for b in (1, 2, 3, 4) for c in (1, 2, 3, 4)]"] * 60)
    assert not analyse(tmp_path, LONG.format(long=steps)).shown
