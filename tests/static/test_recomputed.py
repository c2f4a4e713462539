"""What runs again for the backward pass, under a context manager that saves on the host what that needs."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

SAVED = """
import torch
from torch.utils.checkpoint import checkpoint
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return x + self.linear(x){inside}
block = Block().cuda()
x = torch.ones(4, 4, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    with torch.autograd.graph.save_on_cpu():
        {call}
"""
RECOMPUTED = "checkpoint(block, x, use_reentrant={})  # expect: GL201"


@pytest.mark.parametrize("reentrant", [True, False])
def test_what_is_recomputed_saves_its_arguments_and_nothing_inside(tmp_path: Path, reentrant: bool) -> None:
    """Of all that it makes, nothing is kept for the backward pass; the copies are made where it is called."""
    said = analyse(tmp_path, SAVED.format(call=RECOMPUTED.format(reentrant), inside=""))
    assert said.expected == said.shown != []


def test_what_is_called_itself_saves_what_it_makes(tmp_path: Path) -> None:
    said = analyse(tmp_path, SAVED.format(call="block(x)", inside="  # expect: GL201, GL201"))
    assert {line for line, *_ in said.expected} == {line for line, *_ in said.shown} != set()


def test_what_is_recomputed_is_still_looked_at(tmp_path: Path) -> None:
    """A read inside of it is one, whatever saves around it; behind it, operations save again."""
    call = "y = checkpoint(lambda t: t.sum().item() * t, x)  # expect: GL101, GL201\n        z = x * 2  # expect: GL201"
    said = analyse(tmp_path, SAVED.format(call=call, inside=""))
    assert said.expected == said.shown != []
