"""What a region is called, by who opens it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphlint import runtime
from graphlint.config import load_config
from graphlint.rulebook import builtin_rules, load_rulebook

BEFORE = """\
import torch

x = torch.ones(2, 4, device="cuda")
layer = torch.nn.Linear(4, 4).cuda()
layer(x)
"""
BLOCK = "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n    layer(x).sum().item()\n"
BY_HAND = """\
graph = torch.cuda.CUDAGraph()
with torch.cuda.stream(torch.cuda.Stream()):
    graph.capture_begin()
    layer(x).sum().item()
    graph.capture_end()
"""
GRAPHED = "torch.cuda.make_graphed_callables(lambda x: x * x.sum().item(), (x,))\n"
REFUSED = """\
layer.register_forward_hook(lambda *given: None)
torch.cuda.make_graphed_callables(layer, (x,))
"""
FACTORY = "def step():\n    return lambda x: x * x.sum().item(), (x,)\n"


@pytest.mark.parametrize(
    ("kind", "program", "factory"),
    [
        pytest.param("torch.cuda.graph", BLOCK, "", id="a block"),
        pytest.param("torch.cuda.CUDAGraph.capture_begin", BY_HAND, "", id="by hand"),
        pytest.param("torch.cuda.make_graphed_callables", GRAPHED, "", id="a graphed callable"),
        pytest.param("torch.cuda.make_graphed_callables", REFUSED, "", id="one that is refused before any capture"),
        pytest.param("torch.cuda.graph", FACTORY, ":step", id="a target"),
    ],
)
def test_a_region_is_called_by_what_the_program_has_called(
    kind: str, program: str, factory: str, tmp_path: Path
) -> None:
    """Not by what torch calls below that; a target is captured as a program would do it."""
    file = tmp_path / "program.py"
    file.write_text(BEFORE + program)
    config, rulebook = load_config(tmp_path, None), load_rulebook(builtin_rules())
    report = runtime.verify([f"{file}{factory}"], config, rulebook, on="emulator")
    assert {kind} == {region.kind for finding in report.findings for region in finding.regions}
