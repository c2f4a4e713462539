"""What others put into an object after it was made: one of many classes, or all of it, where nobody set it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

CACHES = """
import torch
from torch import nn

{classes}

def pick(name):
    if False:
        pass
{branches}
    else:
        raise ValueError(name)
    return made

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        return self.cache.update(x)

def serve(model: Attention, x, name):
    model.cache = pick(name)()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, y
"""
CACHE = "class C{0}(nn.Module):\n    def update(self, x):\n        return x.max().item() * {0}\n"
BARE = """
import torch
from torch import nn

class Step(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
        self.bias = torch.zeros(4, device="cuda")

    def forward(self, x):
        if {test}:
            return x
        return x + self.bias

class Other:
    pass

def shared(scale):
    step = {made}
    nn.Module.__init__(step)
    step.scale = scale
    return step

class Runner:
    def __init__(self, scale):
        self.step = shared(scale)

    def capture(self):
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.step(self.x)
"""


@pytest.mark.parametrize("count", [2, 7, 12])
def test_each_of_several_classes_may_be_what_was_put_in(tmp_path: Path, count: int) -> None:
    """An attribute that is nothing at first is set by somebody, and all that are told to do so are looked at."""
    classes = "\n".join(map(CACHE.format, range(count)))
    branches = "\n".join(f"    elif name == '{one}':\n        made = C{one}" for one in range(count))
    found = analyse(tmp_path, CACHES.format(classes=classes, branches=branches)).found
    assert [code for _, _, code in found].count("GL101") == count


def test_of_a_great_many_classes_none_is_looked_at(tmp_path: Path) -> None:
    """Such a list is one of all that there are, and the program has one of them."""
    classes = "\n".join(map(CACHE.format, range(25)))
    branches = "\n".join(f"    elif name == '{one}':\n        made = C{one}" for one in range(25))
    assert "GL101" not in {
        code for _, _, code in analyse(tmp_path, CACHES.format(classes=classes, branches=branches)).found
    }


@pytest.mark.parametrize(
    ("made", "test", "codes"),
    [
        ("Step.__new__(Step)", "self.bias.sum() > 0", ["GL301"]),
        ("object.__new__(Step)", "x.sum() > 0", ["GL301"]),
        ("nn.Module.__new__(Step)", "x.sum() > 0", ["GL301"]),
        ("Step.__new__(Step)", "self.bias.dim() > 0", []),
        ("Step.__new__(Other)", "x.sum() > 0", []),
    ],
)
def test_an_object_that_nobody_set_up_runs_what_its_class_does(
    tmp_path: Path, made: str, test: str, codes: list[str]
) -> None:
    """What it holds is what others put into it, or what its constructor would have."""
    assert [code for _, _, code in analyse(tmp_path, BARE.format(made=made, test=test)).shown] == codes


def test_a_class_that_makes_its_own_objects_gives_them_what_it_was_given(tmp_path: Path) -> None:
    """What makes an object of a class by hand is no stranger to it."""
    program = """
import torch

class Held(tuple):
    def __new__(cls, data, host):
        made = super().__new__(cls)
        made.data = data
        made.host = host
        return made

def step(x):
    held = Held(x, 3)
    return held.data * held.host

def capture():
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x)
    return graph, x, y
"""
    assert analyse(tmp_path, program).found == []
