"""Members that a class is given behind its body: by statements of its file, and by what another class does for it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from static.analysis import analyse

from graphlint.finding import Confidence

GIVEN = """
import torch

def reads(self, x):
    return x.item(){mark}

class Layer:
    {declared}
    def step(self, x):
        return {called}

{given}

def main():
    layer = Layer()
    x = torch.zeros(1, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        layer.step(x)
"""
MARK = "  # expect: GL101"


@pytest.mark.parametrize(
    ("declared", "called", "given", "mark"),
    [
        ("run = None", "self.run(x)", "Layer.run = reads", MARK),
        ("", "self.run(x)", "Layer.run = reads", MARK),
        ("def run(self, x): return x", "self.run(x)", "Layer.run = reads", MARK),
        ("class Parts: pass", "self.Parts.run(self, x)", "Layer.Parts.run = reads", MARK),
        ("def run(self, x): return x", "self.run(x)", "Other = Layer\nreads.run = Layer", ""),
        ("class Parts: pass\n    def run(self, x): return x", "self.run(x)", "Layer.Parts.run = reads", ""),
    ],
    ids=["none", "nothing", "another", "of a class inside", "of something else", "of another class"],
)
def test_a_statement_gives_a_class_a_member(tmp_path: Path, declared: str, called: str, given: str, mark: str) -> None:
    """It takes the place of what the body says; nothing is left open."""
    analysis = analyse(tmp_path, GIVEN.format(declared=declared, called=called, given=given, mark=mark))
    assert analysis.expected == [place for place in analysis.found if place[2] == "GL101"]
    assert not analysis.report.summary.unresolved_calls


BUILT = """
import torch
from dataclasses import dataclass

class Module(torch.nn.Module):
    @dataclass
    class Config:
        size: int = 4
        def build(self):
            return self._owner(self)
    def __init_subclass__(cls, **given):
        super().__init_subclass__(**given)
        {born}

class Reads(Module):
    @dataclass
    class Config(Module.Config):
        heads: int = 2
    def __init__(self, config):
        super().__init__()
    def forward(self, x):
        return x.tolist()

class Computes(Module):
    @dataclass
    class Config(Module.Config):
        inner: Reads.Config = None
    def __init__(self, config):
        super().__init__()
        self.inner = config.inner.build()
    def forward(self, x):
        return {forward}

def main(config: Computes.Config):
    model = config.build()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        model(torch.zeros(1, device="cuda"))
"""
BORN = 'if "Config" in cls.__dict__:\n    cls.Config._owner = cls'


@pytest.mark.parametrize(("forward", "codes"), [("self.inner(x)", ["GL101"]), ("x * 2", [])])
def test_a_configuration_builds_the_class_that_it_stands_in(tmp_path: Path, forward: str, codes: list[str]) -> None:
    """Each class gives itself to its own, and a builder makes no other."""
    program = BUILT.format(forward=forward, born=textwrap.indent(BORN, " " * 8).lstrip())
    analysis = analyse(tmp_path, program)
    assert codes == [code for _, _, code in analysis.found if code == "GL101"]
    assert not analysis.report.summary.unresolved_calls


CHOSEN = """
import torch

class Dense:
    def plain(self, x):
        return x * x.sum().item()

class Experts:
    def plain(self, x):
        return x * 3

class Layer:
    def __init__(self, is_moe):
        if is_moe:
            self.mlp = Experts()
        else:
            self.mlp = Dense()

    def choose(self):
        self.mlp.run = {given}

    def forward(self, x):
        return self.mlp.run(x)

def main(is_moe):
    layer = Layer(is_moe)
    layer.choose()
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return layer.forward(x)
"""


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ("self.mlp.plain", ["isinstance(self.mlp, Dense)"]),
        ("Dense().plain", ["isinstance(self.mlp, Experts)"]),
    ],
)
def test_one_of_several_objects_is_given_no_method_of_another(tmp_path: Path, given: str, condition: list[str]) -> None:
    """`self.mlp.run = self.mlp.plain` gives each its own; a method of some other object is given to all of them."""
    (finding,) = analyse(tmp_path, CHOSEN.format(given=given)).report.findings
    assert [one.text for one in finding.when] == condition


HIDDEN = """
import torch
from functools import partial

class Wrapper:
    def __init__(self, buffer):
        self.buffer = buffer

    def plan(self, x):
        return x.cpu()

def fast_plan(wrapper, x):
    return x + 1

class Backend:
    def __init__(self):
        self.buffer = torch.empty(4, device="cuda")
        self.wrappers = {{}}

    def prepare(self, size):
        wrapper = Wrapper(self.buffer)
        wrapper.plan(self.buffer)
        {given}
        self.wrappers[size] = wrapper

    def apply(self, size, x):
        self.update({wrapper}, x)

    def update(self, wrapper: Wrapper, x):
        wrapper.plan(x)

def main(backend: Backend, size):
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        backend.apply(size, x)
"""


@pytest.mark.parametrize(
    ("given", "wrapper", "is_told"),
    [
        ("wrapper.plan = partial(fast_plan, wrapper)", "self.wrappers[size]", False),
        ("wrapper.size = partial(fast_plan, wrapper)", "self.wrappers[size]", True),
        ("wrapper.plan = None", "self.wrappers[size]", True),
        ("wrapper.plan = partial(fast_plan, wrapper)", "Wrapper(self.buffer)", True),
    ],
)
def test_an_object_that_is_promised_may_have_had_its_method_replaced(
    tmp_path: Path, given: str, wrapper: str, is_told: bool
) -> None:
    """Nothing says which of the two a region calls, unless it makes the object by itself."""
    program = HIDDEN.format(given=given, wrapper=wrapper)
    assert [code for *_, code in analyse(tmp_path, program).shown] == ["GL201"] * is_told


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        ('self.weight_names = ["weight"]', False),
        ("self.weight_names = []\n        self.weight_names = [name for name in parts]", True),
        ("self.names = []", True),
    ],
    ids=["a list elsewhere", "more than lists", "another name"],
)
def test_a_name_that_is_made_up_is_none_of_a_list(tmp_path: Path, other: str, is_told: bool) -> None:
    text = f"""
import torch

class Base(torch.nn.Module):
    def check(self):
        if not hasattr(self, "weight_names") or not self.weight_names:
            return

class Grouped(Base):
    def __init__(self, count):
        super().__init__()
        for i in range(count):
            self.register_parameter(f"weight{{i}}", torch.nn.Parameter(torch.ones(4, 4, device="cuda")))

    def forward(self, x):
        self.check()
        return x @ self.weight0

class Single(Base):
    def __init__(self, parts):
        super().__init__()
        {other}
"""
    found = analyse(tmp_path, text, regions=("main:Grouped.forward",), confidence=Confidence.LOW).report.findings
    assert any(one.code == "GL301" for one in found) is is_told
