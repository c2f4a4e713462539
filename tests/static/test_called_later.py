"""State that changes between the calls of what captures and replays: an object, a decorated function, a closure."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

OBJECT = """
import contextlib
import torch

class Params:
    scale = 1.0

class Sampler:
    def __init__(self, example):
        self.params = Params()
        self.x = example.clone()
        self.graph = None

    def compute(self):
        return torch.relu(torch.ones(4, device="cuda")) * self.params.scale{mark}

    def capture(self):
        self.compute()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = self.compute()

    @contextlib.contextmanager
    def scaled(self, scale):
        self.params.scale = 2.0 * scale
        yield

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.out.clone()

def main(x, scales):
    sampler = Sampler(x)
    {before}
    sampler.capture()
    for scale in scales:
        {inside}
            sampler(x)
"""


@pytest.mark.parametrize(
    ("before", "inside", "mark"),
    [
        ("pass", "with sampler.scaled(scale):", "  # expect: GL402"),
        ("sampler.scaled(3.0).__enter__()", "if scale:", ""),
    ],
    ids=["around each call", "before the capture"],
)
def test_an_object_that_replays_is_called_by_the_name_it_has(
    tmp_path: Path, before: str, inside: str, mark: str
) -> None:
    """Its constructor replays nothing."""
    analysis = analyse(tmp_path, OBJECT.format(before=before, inside=inside, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL402"]


LAZY = """
import torch

rate = 1.0

def graphed(fn):
    graph, static, out = None, None, None

    def wrapper(x):
        nonlocal graph, static, out
        if graph is None:
            static = x.clone()
            fn(static)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = fn(static)
        static.copy_(x)
        graph.replay()
        return out.clone()

    return wrapper

@graphed
def step(x):
    return torch.ones(4, device="cuda") * rate{mark}

def main(x):
    global rate
    {before}
    for number in range(4):
        {inside}
        step(x)
"""


@pytest.mark.parametrize(
    ("before", "inside", "mark"),
    [("pass", "rate = 1.0 - 0.1 * number", "  # expect: GL402"), ("rate = 0.5", "pass", "")],
    ids=["in each round", "before the first call"],
)
def test_what_captures_when_it_is_first_called_keeps_the_state_of_then(
    tmp_path: Path, before: str, inside: str, mark: str
) -> None:
    """Further calls of the function that a decorator made of it capture nothing anew."""
    analysis = analyse(tmp_path, LAZY.format(before=before, inside=inside, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL402"]


CHOICES = """
import enum
import random
import torch

class Phase(enum.Enum):
    WARM = 0
    HOT = 1

class Model:
    OPS = (torch.relu, torch.tanh)

    def __init__(self):
        self.phase, self.seen = Phase.WARM, {{}}
        self.x = torch.zeros(4, device="cuda")

    def forward(self):
        {body}
        return torch.relu(self.x)

def run(batches):
    model = Model()
    model.forward()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model.forward()
    {behind}
    for batch in batches:
        model.x.copy_(batch)
        graph.replay()
        yield out.clone(), model.seen
"""
HOT = "if self.phase is Phase.HOT: return self.x * 2"


@pytest.mark.parametrize(
    ("body", "behind"),
    [
        (f"{HOT}  # expect: GL402", "model.phase = Phase.HOT"),
        (HOT, "pass"),
        ("return random.choice(self.OPS)(self.x)  # expect: GL403", "pass"),
        ("return self.OPS[0](self.x)", "random.choice(self.OPS)"),
        ("self.seen['run'] = self.seen.get('run', 0) + 1  # expect: GL401", "pass"),
        ("self.seen['run'] = 1", "pass"),
    ],
    ids=["a member", "the same member", "a drawn function", "the first one", "a count in a table", "a mark there"],
)
def test_what_else_decides_and_counts_on_the_host(tmp_path: Path, body: str, behind: str) -> None:
    """Members of enumerations, functions that are drawn, and counts in tables."""
    analysis = analyse(tmp_path, CHOICES.format(body=body, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL401", "GL402", "GL403")]
