"""Buffers of graphs in records: dataclasses, named tuples, dictionaries, and attributes that are set by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

HELD = """
import dataclasses
import types
from collections import namedtuple
from typing import NamedTuple
import torch

@dataclasses.dataclass
class Buffers:
    ids: torch.Tensor
    positions: torch.Tensor
    extra: dict = dataclasses.field(default_factory=dict)

class Typed(NamedTuple):
    ids: torch.Tensor
    positions: torch.Tensor

Named = namedtuple("Named", "ids positions")

def zeros():
    return torch.zeros(8, dtype=torch.long, device="cuda")

class Runner:
    def __init__(self, model):
        self.buffers = {record}(ids=zeros(), positions=zeros())
        model(self.buffers.ids, self.buffers.positions)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = model(self.buffers.ids, self.buffers.positions)

    def step(self, ids, positions):
        {step}
        self.graph.replay(){mark}
        return self.out.clone()
"""
RECORDS = ["Buffers", "Typed", "Named", "types.SimpleNamespace"]
FILL = "self.buffers.ids.copy_(ids); self.buffers.positions.copy_(positions)"
COPIES = {
    "dataclasses.replace": (
        "Buffers",
        "self.buffers = dataclasses.replace(self.buffers, ids=ids, positions=positions)",
    ),
    "_replace": ("Named", "self.buffers = self.buffers._replace(ids=ids, positions=positions)"),
    "a new one": ("Typed", "self.buffers = Typed(ids, positions)"),
}


@pytest.mark.parametrize("record", RECORDS)
def test_what_a_record_holds_is_filled_or_not(tmp_path: Path, record: str) -> None:
    """One of two inputs that a call brings goes nowhere."""
    stale = HELD.format(record=record, step="self.buffers.ids.copy_(ids)", mark="  # expect: GL512")
    analysis = analyse(tmp_path / "stale", stale)
    assert analysis.expected == analysis.shown
    assert [] == analyse(tmp_path / "filled", HELD.format(record=record, step=FILL, mark="")).shown


@pytest.mark.parametrize(("record", "step"), COPIES.values(), ids=COPIES)
def test_a_record_that_is_exchanged_takes_its_buffers_along(tmp_path: Path, record: str, step: str) -> None:
    """The graph reads those of the old one; a copy whose buffers are the same ones changes nothing."""
    exchanged = HELD.format(record=record, step=f"{step}  # expect: GL508", mark="")
    analysis = analyse(tmp_path / "exchanged", exchanged)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]
    kept = f"{FILL}; {step}".replace("ids=ids, positions=positions", "ids=self.buffers.ids")
    kept = kept.replace("(ids, positions)", "(self.buffers.ids, self.buffers.positions)")
    assert [] == analyse(tmp_path / "kept", HELD.format(record=record, step=kept, mark="")).shown


NAMES = """
import torch

class Inputs:
    pass

class Runner:
    NAMES = ("ids", "mask")

    def __init__(self, fn, example):
        self.inputs = Inputs()
        for name in self.NAMES:
            setattr(self.inputs, name, example[name].clone())
        fn(self.inputs.ids, self.inputs.mask)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = fn(self.inputs.ids, self.inputs.mask)

    def __call__(self, batch):
        for name in self.NAMES:
            {each}
        self.graph.replay()
        return self.out.clone()
"""


def test_attributes_are_set_by_names_of_a_list(tmp_path: Path) -> None:
    bound = NAMES.format(each="setattr(self.inputs, name, batch[name])  # expect: GL508")
    analysis = analyse(tmp_path / "bound", bound)
    assert analysis.expected == analysis.shown
    filled = NAMES.format(each="getattr(self.inputs, name).copy_(batch[name])")
    assert [] == analyse(tmp_path / "filled", filled).shown


DICTIONARY = """
import torch

def build(model, sample):
    static = {{"x": sample["x"].clone(), "mask": sample["mask"].clone()}}
    model(**static)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = model(**static)
    return graph, static, out

def {name}(model, requests):
    graph, static, out = build(model, requests[0])
    for request in requests:
        {fill}
        graph.replay()
        {result}
"""
RESULTS = {"a function": "print(out.clone())", "a generator": "yield out.clone()"}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_a_dictionary_that_is_updated_holds_other_tensors(tmp_path: Path, result: str) -> None:
    """Also in what gives one result after the other."""
    updated = DICTIONARY.format(name="serve", fill="static.update(request)  # expect: GL508", result=result)
    analysis = analyse(tmp_path / "updated", updated)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]
    fill = "for key in static: static[key].copy_(request[key])"
    beside = "        out = model(**static)\n    static.update(sample.more)\n    return"
    added = DICTIONARY.replace("        out = model(**static)\n    return", beside)
    analysis = analyse(tmp_path / "added", added.format(name="serve", fill=fill, result=result))
    assert "GL508" not in {code for _, _, code in analysis.shown}
    filled = DICTIONARY.format(name="serve", fill=fill, result=result)
    assert [] == analyse(tmp_path / "filled", filled).shown


DROPPED = """
import torch

buffers = {{"x": torch.zeros(4, 8, device="cuda"), "bias": torch.ones(8, device="cuda")}}
def add():
    return buffers["x"] * buffers["bias"]
add()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = add()

def free():
    {free}

free()
for _ in range(3):
    buffers["x"].copy_(torch.randn(4, 8))
    graph.replay()
    print(y.sum().item())
"""


@pytest.mark.parametrize(
    ("free", "mark"),
    [
        ('buffers.pop("bias")', "  # expect: GL507"),
        ('del buffers["bias"]', "  # expect: GL507"),
        ('buffers["kept"] = buffers.pop("bias")', ""),
        ('buffers["bias"].zero_()', ""),
    ],
)
def test_what_a_dictionary_gives_up_is_free(tmp_path: Path, free: str, mark: str) -> None:
    analysis = analyse(tmp_path, DROPPED.format(free=f"{free}{mark}"))
    assert analysis.expected == analysis.shown


GIVEN = """
import torch

def build(model, size):
    x = torch.zeros(size, 16, device="cuda")
    model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x){mark}
    {given}
"""


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ("return lambda: (graph.replay(), y)[1].clone()", "  # expect: GL507"),
        ("return lambda data: (x.copy_(data), graph.replay(), y)[2].clone()", ""),
        ("def fill(data): x.copy_(data)\n    return lambda data: (fill(data), graph.replay(), y)[2].clone()", ""),
    ],
    ids=["what replays", "what fills", "what leads to what fills"],
)
def test_a_closure_keeps_what_it_reads(tmp_path: Path, given: str, mark: str) -> None:
    """And nothing else of the function that it was made in."""
    program = GIVEN.format(given=given, mark=mark).replace("(model, size)", "(size)")
    program = program.replace("def build", "model = torch.nn.Linear(16, 16, device='cuda')\ndef build")
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL507"]


TWO_FILES = """
import torch
from state import buffers{names}

def add(x):
    return buffers["bias"] + x

def main(batches):
    x = torch.zeros(4, device="cuda")
    add(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = add(x)
    {between}
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        yield y.clone()
# file: state.py
import torch
buffers = {{"bias": torch.ones(4, device="cuda")}}
spare = []

def free():
    {free}
"""


@pytest.mark.parametrize(
    ("names", "between", "free"),
    [
        ("", 'buffers.pop("bias")  # expect: GL507', "pass"),
        (", free", "free()", 'buffers.pop("bias")  # expect: GL507'),
        (", free", "free()", 'spare.append(buffers.pop("bias"))'),
        (", free", "pass", 'buffers.pop("bias")'),
    ],
    ids=["here", "there", "moved there", "never"],
)
def test_a_variable_of_another_file_is_one_object(tmp_path: Path, names: str, between: str, free: str) -> None:
    analysis = analyse(tmp_path, TWO_FILES.format(names=names, between=between, free=free))
    assert analysis.expected == analysis.shown
