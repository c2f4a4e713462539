"""Parameters that no region gives a captured function, and that eager mode gives it beside a replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
# file: manager.py
import torch

class Manager:
    def capture(self, function):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            function(4)

    def run_graph(self):
        self.graph.replay()

# file: drafts.py
import torch
from manager import Manager

class Drafts:
    def __init__(self, model):
        self.model = model
        self.x = torch.zeros(8, 16, device="cuda")
        self.tokens = torch.zeros(8, device="cuda")
        self.manager = Manager()

    def generate(self, n, logits_out=None):
        logits = self.x[:n] * 2
{writes}
        self.tokens[:n] = logits.sum(-1)

    def capture(self):
        self.manager.capture({captured})

    def propose(self, x, n, use_graph, logits_out):
        self.x[:n].copy_(x)
        if use_graph:
            self.manager.run_graph()
{behind}
            return self.tokens[:n].clone()
        self.generate(n, {given})
        return self.tokens[:n].clone()
"""
WRITES = """
        if logits_out is not None:{mark}
            logits_out[:n] = logits
"""
MARK = "  # expect: GL402"


def program(
    writes: str = WRITES.format(mark=""),
    captured: str = "self.generate",
    given: str = "logits_out=logits_out",
    behind: str = "",
) -> str:
    return RUNNER.format(writes=writes.strip("\n"), captured=captured, given=given, behind=behind)


@pytest.mark.parametrize(
    "writes",
    [
        WRITES.format(mark=MARK),
        f"        if logits_out is not None:{MARK}\n            logits_out.copy_(logits)",
        f"        if logits_out is not None:{MARK}\n            torch.mul(logits, 2, out=logits_out[:n])",
    ],
    ids=["an item", "in place", "out"],
)
@pytest.mark.parametrize("given", ["logits_out=logits_out", "logits_out", "logits_out=logits_out[:, 0]"])
@pytest.mark.parametrize(
    "captured", ["self.generate", "lambda n: self.generate(n)", "lambda n: self.generate(n, None)"]
)
def test_a_buffer_that_only_eager_mode_is_given(tmp_path: Path, writes: str, given: str, captured: str) -> None:
    analysis = analyse(tmp_path, program(writes, captured, given))
    assert analysis.shown == analysis.expected
    assert "`logits_out`" in analysis.finding.message
    assert "drafts.py:" in analysis.finding.message


@pytest.mark.parametrize(
    "changes",
    [
        {"captured": "lambda n: self.generate(n, self.logits)"},
        {"captured": "lambda n: self.generate(n, logits_out=self.logits)"},
        {"given": "None"},
        {"given": "*logits_out"},
        {"behind": "            logits_out[:n] = self.x[:n] * 2"},
        {"writes": "        if logits_out is not None:\n            print(logits_out)"},
        {"writes": "        pass"},
    ],
)
def test_a_replay_that_misses_nothing(tmp_path: Path, changes: dict[str, str]) -> None:
    """The region is given a buffer as well, nobody gives one, the replay is followed by it, or nothing is written."""
    assert analyse(tmp_path, program(**changes)).shown == []


def test_a_function_that_eager_mode_alone_calls(tmp_path: Path) -> None:
    """Who never replays misses nothing in a replay."""
    text = program().replace("self.manager.run_graph()", "pass")
    assert analyse(tmp_path, text).shown == []
