"""Keys of graphs that leave out what decides what the region does."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)

    def forward(self, x, causal, window):
        y = self.proj(x)[:, -window:]
        return nn.functional.scaled_dot_product_attention(y, y, y, is_causal=causal)

def key_of(x, causal, window):
    {made}

class Runner:
    def __init__(self, window):
        self.model = Model().cuda()
        self.graphs = {{}}
        self.window = window

    def capture(self, x, causal, window):
        static = x.clone()
        self.model(static, causal, window); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(static, causal, window)
        return graph, static, y

    def __call__(self, x, causal, window):
        key = {key}
        if key not in self.graphs:
            self.graphs[key] = self.capture(x, {given})
        graph, static, y = self.graphs[key]
        static.copy_(x)
        graph.replay()
        return y.clone()
"""
GIVEN = "causal, window"
WHOLE = "return x.shape[0], causal, window"


@pytest.mark.parametrize(
    ("made", "key", "given"),
    [
        ("return x.shape[0], causal  # expect: GL402", "key_of(x, causal, window)", GIVEN),
        ("return x.shape[0], causal  # expect: GL402", "key_of(x, causal=causal, window=window)", GIVEN),
        (WHOLE, "x.shape[0], causal  # expect: GL402", GIVEN),
        (WHOLE, "x.shape[0], causal  # expect: GL402", "window=window, causal=causal"),
        (WHOLE, "key_of(x, causal, 8)  # expect: GL402", GIVEN),
        (WHOLE, "key_of(x, causal, window)", GIVEN),
        (WHOLE, "x.shape[0], causal, window", GIVEN),
        ("return x.shape[0], causal", "key_of(x, causal, window)", "causal, self.window"),
        ("return x.shape[0], causal", "key_of(x, causal, window)", "causal, 8"),
        (WHOLE, "key_of(*(x, causal, window))", GIVEN),
    ],
    ids=[
        *("a helper", "keywords", "no helper", "keywords of the capture", "something else is given"),
        *("whole", "whole, no helper", "one for the object", "one for all", "nobody knows"),
    ],
)
def test_the_key_of_whoever_calls_what_captures_names_what_it_gives(
    tmp_path: Path, made: str, key: str, given: str
) -> None:
    """Calls that differ in what the key leaves out replay one graph."""
    analysis = analyse(tmp_path, RUNNER.format(made=made, key=key, given=given))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


KEPT = """
import torch

made = {{}}

def step(x: torch.Tensor, eps: float):
    return x * eps

def captured(x, eps):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x, eps)
    return graph

def run(x: torch.Tensor, eps: float):
    key = "default"
    kept = made.get(key)
    if kept is None:
        kept = {kept}
        made[key] = kept
    return {use}
"""


@pytest.mark.parametrize(
    ("kept", "use", "is_told"),
    [
        ("torch.compile(step, mode='reduce-overhead')", "kept(x, eps)", False),
        ("captured(x, eps)", "kept.replay()", True),
    ],
)
def test_what_is_compiled_asks_for_its_numbers_by_itself(tmp_path: Path, kept: str, use: str, is_told: bool) -> None:
    """Whatever it is kept under, another number compiles it anew; a graph of one's own is replayed."""
    shown = analyse(tmp_path, KEPT.format(kept=kept, use=use)).shown
    assert is_told is any(code == "GL402" for _, _, code in shown)


ROUND = """
import torch

{before}
def captured(models, scale: float):
    x = torch.ones(4, device="cuda")
    {within}
    out = []
    for i, model in enumerate(models):
        if i not in seen:
            seen[i] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(seen[i]):
                x.mul_(scale)
        out.append(seen[i])
    return out
"""


@pytest.mark.parametrize(("before", "within", "is_told"), [("seen = {}", "pass", True), ("", "seen = {}", False)])
def test_a_table_that_the_call_makes_anew_is_no_cache(tmp_path: Path, before: str, within: str, is_told: bool) -> None:
    """What it is asked for has been put there by the same call, with the same numbers."""
    shown = analyse(tmp_path, ROUND.format(before=before, within=within)).shown
    assert is_told is any(code == "GL402" for _, _, code in shown)


INNER = """
import torch

def captured(model, scale: float):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.mul_(scale)
    return graph

def wrap(model, scale: float, graphs):
    {wrapped}
    kind = type(model)
    {asked}
    graphs[kind] = captured(model, scale)
    return graphs[kind]
"""
ASKS = "if kind in graphs: return graphs[kind]"
BESIDE = "def remember(kind):\n        if kind not in graphs: graphs[kind] = None\n    remember(type(model))"


@pytest.mark.parametrize(("wrapped", "asked", "is_told"), [("pass", ASKS, True), (BESIDE, "pass", False)])
def test_a_key_of_a_function_beside_the_call_picks_no_graph(
    tmp_path: Path, wrapped: str, asked: str, is_told: bool
) -> None:
    """What an inner function asks a table for is not what the call is made for."""
    shown = analyse(tmp_path, INNER.format(wrapped=wrapped, asked=asked)).shown
    assert is_told is any(code == "GL402" for _, _, code in shown)


def test_a_key_of_a_table_that_the_call_makes_anew_picks_its_graph(tmp_path: Path) -> None:
    """Each graph keeps the number that it was captured for, and no later one is missed."""
    text = """
        import torch

        def measure(model, sizes, bench):
            x = torch.ones(64, device="cuda")
            graphs = {}
            for size in sizes:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = model(x[:size])
                graphs[size] = graph, y
            for size in sizes:
                bench(lambda: graphs[size][0].replay())
    """
    shown = analyse(tmp_path, textwrap.dedent(text)).shown
    assert "GL402" not in {code for _, _, code in shown}


HELD = """
import torch

def captured(model, state, size):
    x = torch.ones(size, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x, state)
    return graph

def update(model, cache, size{more}):
    if size not in cache.graphs:
        cache.graphs[size] = captured(model, {state}, size)
    return cache.graphs[size]
"""


@pytest.mark.parametrize(("state", "more", "is_told"), [("cache.state", "", False), ("state", ", state", True)])
def test_what_lies_beside_the_table_is_no_part_of_its_keys(
    tmp_path: Path, state: str, more: str, is_told: bool
) -> None:
    """Whoever gives the object another one empties its table."""
    shown = analyse(tmp_path, HELD.format(state=state, more=more)).shown
    assert is_told is any(code == "GL402" for _, _, code in shown)
