"""Modes of modules that a capture had, and that the program changes before a replay."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SCRIPT = """
import torch
from torch import nn

net = nn.Sequential({layers}).cuda()
{before}
x = torch.zeros(4, 8, device="cuda")
with torch.no_grad():
    net(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
{behind}
x.fill_(1)
graph.replay()
"""
MODAL = ("nn.Dropout(), nn.Linear(8, 8)", "nn.Linear(8, 8), nn.Dropout()", "nn.Linear(8, 8), nn.Dropout(), nn.ReLU()")


@pytest.mark.parametrize("layers", [*MODAL, "nn.Linear(8, 8), nn.ReLU()"])
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("net.train()", "net.eval()"),
        ("net.eval()", "net.train()"),  # as where it is trained between replays of what it infers with
        ("net.eval()", "net.eval()"),
        ("net.train()", "net.eval()\nnet.train()"),
    ],
    ids=["training", "inference", "the same", "there and back"],
)
def test_the_mode_is_switched_behind_the_capture(tmp_path: Path, layers: str, before: str, behind: str) -> None:
    """Whichever layer depends on it: a graph keeps the mode that it was captured in."""
    differs = layers in MODAL and before == "net.train()" and behind == "net.eval()"
    mark = "  # expect: GL405" if differs else ""
    analysis = analyse(tmp_path, SCRIPT.format(layers=layers, before=before, behind=behind + mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL405"]


CAST = """
import torch

net = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.zeros(4, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
{before}
with torch.autocast("cuda", dtype=torch.bfloat16{cache}):{mark}
    {warm}
    with torch.cuda.graph(graph):
        y = net(x)
    {inside}
x.fill_(1)
{behind}
"""


@pytest.mark.parametrize(
    ("before", "warm", "inside", "behind", "is_told"),
    [
        ("pass", "net(x)", "pass", "graph.replay()", True),
        ("pass", "net(x)", "optimizer.step()\n    graph.replay()", "pass", True),
        ("pass", "net(x)", "graph.replay()", "pass", False),
        ("with torch.autocast('cuda'):\n    net(x)", "pass", "pass", "graph.replay()", False),
        ("net.requires_grad_(False)", "net(x)", "pass", "graph.replay()", False),
    ],
    ids=["left behind", "weights that change", "in it all", "another one", "weights without gradients"],
)
@pytest.mark.parametrize("cache", ["", ", cache_enabled=False"], ids=["cached", "not cached"])
def test_autocast_keeps_the_weights_that_a_warm_up_cast(
    tmp_path: Path, cache: str, before: str, warm: str, inside: str, behind: str, is_told: bool
) -> None:
    """They are no part of the graph, and are gone when it ends."""
    mark = "  # expect: GL405" if is_told and not cache else ""
    program = CAST.format(cache=cache, mark=mark, before=before, warm=warm, inside=inside, behind=behind)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL405"]


SIZES = """
import torch

class Decoder:
    def __init__(self, net, sizes):
        self.net = net
        self.graphs = {{n: self.capture(n) for n in sizes}}

    def capture(self, n):
        x = torch.zeros(n, 4, device="cuda")
        self.net(x); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):{mark}
            y = self.net(x)
        return graph, x, y

    def run(self, x, key):
        if key not in self.graphs:
            return self.net(x)
        graph, static, y = self.graphs[key]
        static.copy_(x)
        graph.replay()
        return y.clone()

def main({given}):
    decoder = Decoder(torch.nn.Linear(4, 4).cuda(), sizes={sizes})
    for n in {asked}:
        x = torch.ones(n, 4, device="cuda")
        decoder.run(x, {key})

main({call})
"""
FEW, MANY, SIZE = "(1, 2, 4)", "(5, 6, 7)", "x.shape[0]"


@pytest.mark.parametrize(
    ("sizes", "asked", "key", "given", "call", "is_told"),
    [
        (FEW, MANY, SIZE, "", "", True),
        (FEW, "(1, 2, 4)", "(n, 0)", "", "", True),
        (FEW, "(4, 5, 6)", SIZE, "", "", False),
        ("range(1, 9)", MANY, SIZE, "", "", False),
        (FEW, "(5,)", SIZE, "", "", False),
        (FEW, MANY, "key", "key", "torch.initial_seed()", False),
        (FEW, "sizes", SIZE, "sizes", "map(int, open('sizes'))", False),
    ],
    ids=["too small", "another key", "some are found", "all are found", "one call", "a key of somebody", "any size"],
)
def test_graphs_that_no_call_finds_are_told(
    tmp_path: Path, sizes: str, asked: str, key: str, given: str, call: str, is_told: bool
) -> None:
    """Where the program says which sizes it captures and which it asks for."""
    mark = "  # expect: GL707" if is_told else ""
    program = SIZES.format(sizes=sizes, asked=asked, key=key, given=given, call=call, mark=mark)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL707"]


INFERRED = """
import torch

class Clip:
    def __init__(self, model):
        self.model, self.x = model, torch.zeros(4, device="cuda")
        with torch.inference_mode():
            warm = self.model(self.x) * 2
            {warmed}
        {made}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {within}
            self.out.copy_(y)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()
"""
WITHIN = "with torch.inference_mode():\n                y = self.model(self.x)\n                self.out.copy_(y)"


@pytest.mark.parametrize(
    ("warmed", "made", "within", "is_told"),
    [
        ("self.out = torch.empty_like(warm)", "pass", "y = self.model(self.x)", True),
        ("pass", "self.out = torch.empty_like(warm)", "y = self.model(self.x)", False),
        ("pass", "self.out = torch.zeros(4, device='cuda')", WITHIN, False),
    ],
)
def test_only_what_inference_makes_is_for_inference_alone(
    tmp_path: Path, warmed: str, made: str, within: str, is_told: bool
) -> None:
    """What is filled there was made elsewhere, and what a region changes in inference as well may be."""
    text = INFERRED.format(warmed=warmed, made=made, within=within)
    assert is_told is ("GL609" in {code for _, _, code in analyse(tmp_path, text).found})
