"""What is compiled to replay graphs, and what it is called with that lets it run without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

FUNCTION = """
import torch

@torch.compile({options})
def step(x, other):
    {body}
    return x * other

def main():
    for _ in range(3):
        other = {other}
        torch.compiler.cudagraph_mark_step_begin()
        y = step(torch.randn(4, device="cuda"), other)

main()
"""
GRAPHED, PLAIN = 'mode="reduce-overhead"', "dynamic=False"
DEVICE = 'torch.ones(4, device="cuda")'
TOLD = {
    "an argument lies on the host": (GRAPHED, "pass", "torch.tensor(0.5)  # expect: GL707"),
    "an argument is written to": (GRAPHED, "other[0] = x.sum()  # expect: GL707", DEVICE),
}
SILENT = {
    "nothing is graphed": (PLAIN, "other[0] = x.sum()", DEVICE),
    "both lie on the device": (GRAPHED, "pass", DEVICE),
    "a copy is written to": (GRAPHED, "other = other.clone(); other[0] = x.sum()", DEVICE),
    "an argument is a number": (GRAPHED, "pass", "0.5"),
}


@pytest.mark.parametrize("name", TOLD)
def test_an_argument_for_which_nothing_is_graphed_is_told(tmp_path: Path, name: str) -> None:
    options, body, other = TOLD[name]
    analysis = analyse(tmp_path, FUNCTION.format(options=options, body=body, other=other))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("name", SILENT)
def test_arguments_that_are_graphed_or_need_not_be_are_silent(tmp_path: Path, name: str) -> None:
    options, body, other = SILENT[name]
    assert not analyse(tmp_path, FUNCTION.format(options=options, body=body, other=other)).shown


MODULE = """
import torch

class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x, mean):
        {body}
        return x - mean

norm = torch.compile(Norm().cuda(), mode="reduce-overhead")
mean = torch.zeros(4, device="cuda")
{around}
with torch.no_grad():
    for _ in range(3):
        torch.compiler.cudagraph_mark_step_begin()
        norm(torch.randn(2, 4, device="cuda"), mean)
"""


@pytest.mark.parametrize(
    "body, around",
    [
        ("mean.lerp_(x.mean(0), 0.1)  # expect: GL707", ""),
        ("mean.lerp_(x.mean(0), 0.1)", "torch._dynamo.mark_static_address(mean)"),
        ("self.mean.lerp_(x.mean(0), 0.1)", ""),
    ],
)
def test_a_buffer_and_what_has_a_promised_address_may_be_written(tmp_path: Path, body: str, around: str) -> None:
    analysis = analyse(tmp_path, MODULE.format(body=body, around=around))
    assert analysis.shown == analysis.expected


CHOSEN = """
import torch

class Generator:
    def __init__(self, model, kind=None, options={{"mode": "reduce-overhead"}}):
        self.model, self.graph = model, None
        {compiled}

    def __call__(self, x):
        if self.graph is None:
            self.x = x.clone()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x){mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""
COMPILED = "self.model = torch.compile(model, mode='reduce-overhead')"


@pytest.mark.parametrize(
    ("compiled", "mark"),
    [(COMPILED, "  # expect: GL606"), ("if kind == 'partial': self.model = torch.compile(model, **options)", "")],
    ids=["always", "by a choice of the caller"],
)
def test_what_a_caller_may_choose_to_compile_is_a_hint_in_a_capture(tmp_path: Path, compiled: str, mark: str) -> None:
    """Who captures it may choose options without graphs."""
    analysis = analyse(tmp_path, CHOSEN.format(compiled=compiled, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL606"] == analysis.expected


INSIDE = """
import torch

inner = torch.compile(torch.nn.ReLU().cuda(), mode="{mode}")
x = torch.zeros(4, device="cuda")
with torch.no_grad():
    for _ in range(3):
        inner(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = inner(x){mark}
    for _ in range(3):
        x.normal_()
        graph.replay()
"""


@pytest.mark.parametrize("mode, mark", [("reduce-overhead", "  # expect: GL606"), ("default", "")])
def test_what_replays_graphs_of_its_own_is_not_called_in_a_capture(tmp_path: Path, mode: str, mark: str) -> None:
    analysis = analyse(tmp_path, INSIDE.format(mode=mode, mark=mark))
    assert analysis.shown == analysis.expected
