"""Objects that are made anew in each pass, and what functions keep that are called with the same for all requests."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

CACHE = """
import torch
from torch import nn

class BiasCache:
    def __init__(self):
        self._data = {{}}

    def get(self, n):
        if n not in self._data:
            self._data[n] = torch.zeros(n, device="cuda"){mark}
        return self._data[n]

class Layer(nn.Module):
    def forward(self, x, cache: BiasCache):
        return x + cache.get(x.shape[0])

class Encoder(nn.Module):
    def __init__(self, depth, cache):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(depth))
        self.cache = cache

    def forward(self, x, steps, graph):
        {made}
"""
TOLD = "  # expect: GL501"
LAYERS = "for layer in self.layers: x = layer(x, cache)"


@pytest.mark.parametrize(
    ("made", "mark"),
    [
        ("cache = BiasCache(); self.layers[0](x, cache)", ""),
        (f"cache = BiasCache()\n        {LAYERS}\n        return x", ""),
        ("cache = BiasCache()\n        for _ in range(steps): x = self.layers[0](x, cache)", TOLD),
        ("cache = self.cache = BiasCache()", TOLD),
        ("self.cache = BiasCache()", TOLD),
        ("return BiasCache()", TOLD),
        ("cache = BiasCache(); self.layers[0](x, cache); graph.replay()", TOLD),
        ("return x", TOLD),
    ],
    ids=["a call", "layers", "steps", "kept", "an attribute", "given", "replayed", "nobody makes one"],
)
def test_what_a_cache_of_one_pass_keeps_is_not_there_in_the_next(tmp_path: Path, made: str, mark: str) -> None:
    """Where the function that makes it hands it on, and no more."""
    analysis = analyse(tmp_path, CACHE.format(made=made, mark=mark), regions=("main:Layer.forward",))
    assert analysis.expected == analysis.shown


TABLE = """
import functools
import torch

@functools.lru_cache{size}{mark}
def offsets(groups, size, device):
    return torch.arange(groups, device="cuda") * size

class Router:
    def __init__(self, groups):
        self.groups = groups

    def forward(self, x):
        size = x.shape[-1] // self.groups
        return x + offsets({given}).sum()
"""


@pytest.mark.parametrize(
    ("size", "given", "is_told"),
    [
        ("", "self.groups, size, x.device", False),
        ("", "self.groups, 4, device=x.device", False),
        ("", "x.shape[0], 4, x.device", True),
        ("", "len(x), size, x.device", True),
        ("(maxsize=2)", "self.groups, size, x.device", True),
        ("(maxsize=16)", "4, 4, x.device.index or 0", False),
        ("(maxsize=16)", "int(self.groups), 4, torch.cuda.current_device()", False),
        ("(maxsize=16)", "int(x.shape[0]), 4, x.device.index", True),
        ("(maxsize=16)", "4, 4, x.names.index", True),
        ("(maxsize=None)", "x.shape[0], 4, x.device", False),
    ],
)
def test_a_cache_has_room_for_what_models_ask_of_it(tmp_path: Path, size: str, given: str, is_told: bool) -> None:
    """Numbers of a model are few, and those of requests are not."""
    mark = "  # expect: GL502" if is_told else ""
    analysis = analyse(tmp_path, TABLE.format(size=size, given=given, mark=mark), regions=("main:Router.forward",))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL502"]


GROUPS = """
import functools
import torch

@functools.lru_cache(maxsize=4)
def offsets(groups, device):
    return torch.zeros(groups, device=device)

def step(x: torch.Tensor, groups):
    rows = x.shape[0]
    return x + offsets({given}, torch.device("cuda")).sum()

def capture(groups):
    x = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, groups)
"""


@pytest.mark.parametrize(
    ("given", "confidence"),
    [
        ("rows", Confidence.HIGH),
        ("len(x)", Confidence.HIGH),
        ("groups", Confidence.MEDIUM),
        ("int(groups)", Confidence.MEDIUM),
    ],
)
def test_a_cache_surely_drops_what_surely_varies(tmp_path: Path, given: str, confidence: Confidence) -> None:
    """Of a number that is handed in nobody knows how many there are."""
    found = analyse(tmp_path, GROUPS.format(given=given)).report.findings
    assert [confidence] == [one.confidence for one in found if one.code == "GL502"]


KEPT = """
import functools
import torch

@functools.lru_cache(maxsize=16)
def table(index, heads):
    return torch.zeros(heads, device=torch.device("cuda", index))

class Layer:
    def forward(self, x: torch.Tensor, plan):
        if plan.heads > 1:
            made = table(torch.cuda.current_device(), {heads})
            first = second = made
        else:
            first = second = None
        {kept}
        return x if first is None else x + first.sum()
"""


@pytest.mark.parametrize(
    ("heads", "kept", "is_told"),
    [
        ("plan.heads", "self.live = (first, second)", False),
        ("plan.heads", "self.live = first", False),
        ("plan.heads", "live = (first, second)", True),
        ("plan.heads", "self.live = second is None", True),
        ("x.shape[0]", "self.live = first", True),
        ("len(plan.rows)", "self.live = first", True),
    ],
)
def test_what_an_object_keeps_as_well_is_not_dropped_with_the_cache(
    tmp_path: Path, heads: str, kept: str, is_told: bool
) -> None:
    """Where it is made for numbers of an object, such as a plan, and not for a length."""
    found = analyse(tmp_path, KEPT.format(heads=heads, kept=kept), regions=("main:Layer.forward",)).shown
    assert ("GL502" in {code for _, _, code in found}) is is_told


HANDED = """
import functools
import torch

@functools.lru_cache(maxsize={size})
def scratch(count, device):
    return torch.zeros(count, device=device)

def scratch_on(count, device="cuda"):
    index = torch.device(device)
    if index.index is None:
        index = torch.device("cuda", torch.cuda.current_device())
    return scratch(int(count), index)

def step(x: torch.Tensor, count):
    return x + scratch_on(count, device=x.device).sum()

def capture(config, x: torch.Tensor, rows):
    static = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(static, {given})
"""


@pytest.mark.parametrize(
    ("size", "given", "confidence"),
    [
        (8, "config.experts", Confidence.LOW),
        (8, "rows", Confidence.LOW),
        (8, "x.shape[0]", Confidence.MEDIUM),
        (8, "len(x)", Confidence.MEDIUM),
        (2, "config.experts", Confidence.MEDIUM),
        (1024, "4 + x.names.index", Confidence.LOW),
        (64, "4 + x.names.index", Confidence.MEDIUM),
    ],
)
def test_a_number_is_looked_for_where_it_is_handed_in(
    tmp_path: Path, size: int, given: str, confidence: Confidence
) -> None:
    """One of a configuration, or of whom nobody says where it comes from, is likely one of few."""
    found = analyse(tmp_path, HANDED.format(size=size, given=given), confidence=Confidence.LOW).report.findings
    assert [confidence] == [one.confidence for one in found if one.code == "GL502"]
